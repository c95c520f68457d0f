/**
 * Form reader of the web interface. A route with a file field accepts one file of limited size; others reject files.
 */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../core/refusal.ts'
import { readForm } from '../form.ts'
import { type FormFields, readParameters } from '../parameters.ts'

const MAX_UPLOAD_BYTES = 512 * 1024

/** Larger than for API requests: a form may have a check box for every scope of the catalogue. */
const MAX_FORM_BYTES = 64 * 1024
const MAX_FIELDS = 1_000

export type Upload = { readonly fields: FormFields; readonly file: Buffer | null }

/** `name`: the field that holds the file; null if the route takes none. */
export async function readUpload(request: IncomingMessage, name: string | null): Promise<Upload> {
  const form = await readForm(request, name === null ? MAX_FORM_BYTES : MAX_UPLOAD_BYTES)
  if (name === null || !form?.multipart) return { fields: await readParameters('', form, MAX_FIELDS), file: null }
  const headers = { 'content-type': form.multipart }
  const parts = await new Response(new Uint8Array(form.bytes), { headers }).formData().catch(() => {
    throw new Refusal('invalid_request')
  })
  const fields = new Map<string, string>()
  let file: Buffer | null = null
  for (const [field, value] of parts) {
    if (fields.has(field)) throw new Refusal('invalid_request')
    fields.set(field, typeof value === 'string' ? value : '')
    if (typeof value === 'string') continue
    if (field !== name) throw new Refusal('invalid_request')
    // Browsers send an empty file if none was chosen.
    if (value.size > 0) file = Buffer.from(await value.arrayBuffer())
  }
  return { fields, file }
}
