/** Sends a request that a page shows as a shell command, parsed without a shell. */
import type { Page } from 'playwright-core'
import { post, type WireAnswer } from '../device.ts'

export type ShellSample = { readonly url: URL; readonly form: Readonly<Record<string, string>> }

/** Parses `curl <address>` with its `-d` and `--data-urlencode`; `$NAME` is replaced from `filled`. */
function readSample(text: string, filled: Readonly<Record<string, string>>): ShellSample {
  const [first = '', ...lines] = text.trim().split(/\s*\\\n\s*/)
  const url = /^curl '?(http[^\s']+)'?$/.exec(first.trim())?.[1]
  if (!url) throw new Error(`this is no request: ${text}`)
  const pairs = lines.map((line) => {
    const [, name, value] = /^(?:-d|--data-urlencode) '?([\w.]+)=(.*)$/s.exec(line.trim()) ?? []
    if (name === undefined || value === undefined) throw new Error(`this is no parameter: ${line}`)
    return [name, unquoted(value, filled)] as const
  })
  return { url: new URL(url), form: Object.fromEntries(pairs) }
}

function unquoted(text: string, filled: Readonly<Record<string, string>>): string {
  const bare = text.replace(/^["']/, '').replace(/["']$/, '')
  return bare.replace(/\$(\w+)/g, (variable, name: string) => {
    const value = filled[name]
    if (value === undefined) throw new Error(`nothing is known for ${variable}`)
    return value
  })
}

/** Text of an element of the page, or the text that its copy button copies. */
export async function sendSample(
  page: Page,
  selector: string,
  filled: Readonly<Record<string, string>>,
): Promise<WireAnswer> {
  const element = page.locator(selector).first()
  const text = (await element.getAttribute('text')) ?? (await element.textContent()) ?? ''
  const { url, form } = readSample(text, filled)
  const address = `http://127.0.0.1:${url.port}`
  return post(address, url.pathname, { form, headers: { host: url.host } })
}
