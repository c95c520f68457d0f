/** JSON bodies of the management API and of SCIM. */
import { isUtf8 } from 'node:buffer'
import { Refusal } from '../core/refusal.ts'
import type { Form } from './parameters.ts'

/** Null if there is no body. Throws a Refusal. */
export function parseJson(form: Form | undefined): unknown {
  if (!form || form.bytes.length === 0) return null
  if (!isUtf8(form.bytes)) throw new Refusal('invalid_request', 'The body is not UTF-8.', 'invalidSyntax')
  try {
    return JSON.parse(form.bytes.toString())
  } catch {
    throw new Refusal('invalid_request', 'The body is not JSON.', 'invalidSyntax')
  }
}
