/** JSON bodies of the management API and of SCIM. */
import { isUtf8 } from 'node:buffer'
import { Refusal } from '../core/refusal.ts'
import type { Form } from './parameters.ts'

/** Deeper values would overflow the stack when they are written as JSON again. */
const MAX_DEPTH = 20

/** Null if there is no body. Throws a Refusal. */
export function parseJson(form: Form | undefined): unknown {
  if (!form || form.bytes.length === 0) return null
  if (!isUtf8(form.bytes)) throw new Refusal('invalid_request', 'The body is not UTF-8.', 'invalidSyntax')
  let parsed: unknown
  try {
    parsed = JSON.parse(form.bytes.toString())
  } catch {
    throw new Refusal('invalid_request', 'The body is not JSON.', 'invalidSyntax')
  }
  check(parsed, 0)
  return parsed
}

function check(value: unknown, depth: number): void {
  if (depth > MAX_DEPTH) {
    throw new Refusal('invalid_request', `The body is nested more than ${MAX_DEPTH} levels deep.`, 'invalidValue')
  }
  if (typeof value === 'string') {
    // PostgreSQL cannot store it.
    if (value.includes('\0')) throw new Refusal('invalid_request', 'The body contains a NUL character.', 'invalidValue')
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      check(name, depth)
      check(member, depth + 1)
    }
  }
}
