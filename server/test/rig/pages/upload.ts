/** A multipart form with a file, as a browser submits it from a page of an account. */
import { post, type WireAnswer } from '../device.ts'
import type { Web } from '../web.ts'

export type File = { readonly name: string; readonly bytes: Buffer; readonly type?: string }

export function upload(web: Web, path: string, fields: Record<string, string>, file: File): Promise<WireAnswer> {
  const edge = '----edge'
  const { name, bytes, type = 'image/png' } = file
  const parts = Object.entries(fields).map(
    ([field, value]) => `--${edge}\r\ncontent-disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`,
  )
  const head = `--${edge}\r\ncontent-disposition: form-data; name="${name}"; filename="logo.png"\r\ncontent-type: ${type}\r\n\r\n`
  const raw = Buffer.concat([Buffer.from(parts.join('') + head), bytes, Buffer.from(`\r\n--${edge}--\r\n`)])
  const cookie = Array.from(web.cookies, ([each, value]) => `${each}=${value}`).join('; ')
  return post(web.address, path, {
    raw,
    headers: {
      host: web.host,
      cookie,
      origin: web.origin,
      'sec-fetch-site': 'same-origin',
      'content-type': `multipart/form-data; boundary=${edge}`,
    },
  })
}
