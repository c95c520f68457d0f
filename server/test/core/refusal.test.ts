/** The closed table of refusals. docs/interface.md, "Errors": codes and statuses are contract, messages are not. */
import { describe, expect, test } from 'vitest'
import { Refusal, type RefusalCode, refusals } from '../../src/core/refusal.ts'

const codes = Object.keys(refusals) as RefusalCode[]

describe('the table of refusals', () => {
  test.each(['auth_pending', 'slow_down', 'auth_expired', 'auth_rejected', 'invalid'] as const)(
    'the poll outcome %s has HTTP status 400',
    (code) => {
      expect(refusals[code].status).toBe(400)
    },
  )

  test('is closed: a new code, or a new status for an old one, is a change of the contract', () => {
    expect(Object.fromEntries(codes.map((code) => [code, refusals[code].status]))).toEqual({
      auth_pending: 400,
      slow_down: 400,
      auth_expired: 400,
      auth_rejected: 400,
      invalid: 400,
      invalid_request: 400,
      invalid_scope: 400,
      invalid_target: 400,
      invalid_grant: 400,
      unsupported_grant_type: 400,
      unsupported_response_type: 400,
      invalid_application: 401,
      invalid_credential: 401,
      insufficient_scope: 403,
      application_suspended: 403,
      device_flow_disabled: 403,
      invalid_test_secret: 403,
      not_found: 404,
      method_not_allowed: 405,
      conflict: 409,
      precondition_failed: 412,
      payload_too_large: 413,
      unsupported_media_type: 415,
      misdirected: 421,
      too_many_requests: 429,
      headers_too_large: 431,
      server_error: 500,
      unavailable: 503,
    })
  })

  test.each(codes)('%s says in whole sentences what happened and what to do', (code) => {
    const { message, remedy } = refusals[code]
    for (const text of [message, remedy]) expect(text).toMatch(/^[A-Z`].*\.$/)
  })
})

describe('a refusal', () => {
  test('has the message of the table', () => {
    const refusal = new Refusal('invalid_scope')
    expect(refusal).toBeInstanceOf(Error)
    expect(refusal).toMatchObject({ name: 'Refusal', code: 'invalid_scope', message: refusals.invalid_scope.message })
  })

  test('may have a more precise message under the same code', () => {
    const refusal = new Refusal('invalid_request', 'The parameter SVCappid is missing.')
    expect(refusal).toMatchObject({ code: 'invalid_request', message: 'The parameter SVCappid is missing.' })
  })
})
