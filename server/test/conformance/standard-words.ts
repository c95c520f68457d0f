/** Words that every request and every refusal of the standard dialect has in common, as the RFCs have them. */
import { expect } from 'vitest'
import type { WireAnswer } from '../rig/device.ts'
import type { MadeApplication } from '../rig/make.ts'

/** client_secret_post, or none for a public application. */
export function as({ id, secret }: MadeApplication): Record<string, string> {
  return secret === '' ? { client_id: id } : { client_id: id, client_secret: secret }
}

/** RFC 6749, section 5.2: two fields of plain ASCII without quotes, never cached; and RFC 9110: no 401 without a challenge. */
export function expectError(answer: WireAnswer, status: number, error: string): void {
  expect({ status: answer.status, error: answer.body.error }).toEqual({ status, error })
  expect(Object.keys(answer.body)).toEqual(['error', 'error_description'])
  expect(answer.body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    pragma: 'no-cache',
  })
  expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Basic realm="latchkey"' : undefined)
}
