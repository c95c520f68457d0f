/** One schema reads the parameters of an endpoint and describes them. */
import { expect, it } from 'vitest'
import { refusals } from '../../src/core/refusal.ts'
import { objectSchema } from '../../src/http/openapi/document.ts'
import { integer, isRead, oneOf, optional, parse, text } from '../../src/http/schema.ts'

const form = {
  token: text('A token.'),
  decision: oneOf(['grant', 'reject'], 'A decision.'),
  scope: optional(text('Scopes.')),
  expires_in: optional(integer('Seconds.')),
}

const read = (fields: Record<string, string>) => parse(form, new Map(Object.entries(fields)))

it('gives what is named, and null for what is optional and absent; other names are ignored', () => {
  expect(read({ token: 't', decision: 'grant', other: 'x' })).toEqual({
    token: 't',
    decision: 'grant',
    scope: null,
    expires_in: null,
  })
  expect(read({ token: 't', decision: 'reject', scope: '', expires_in: '60' })).toEqual({
    token: 't',
    decision: 'reject',
    scope: '',
    expires_in: 60,
  })
})

it('refuses what is missing or empty although it is required, and what is not in its list', () => {
  expect(() => read({ decision: 'grant' })).toThrow('The parameter token is missing.')
  expect(() => read({ token: '', decision: 'grant' })).toThrow('The parameter token is missing.')
  expect(() => read({ token: 't', decision: 'maybe' })).toThrow('The decision must be grant or reject.')
})

it('refuses a missing secret as a wrong one, where a schema says so', () => {
  const secret = { secret: { ...text('A secret.'), missing: 'invalid_application' } } as const
  expect(() => parse(secret, new Map())).toThrow(refusals.invalid_application.message)
  expect(objectSchema(secret)).toEqual(objectSchema({ secret: text('A secret.') }))
})

it('reads a parameter under its second name, and refuses two names with two values', () => {
  const named = { SVCappid: { ...text('An id.'), alias: 'client_id' } } as const
  const readNamed = (fields: Record<string, string>) => parse(named, new Map(Object.entries(fields))).SVCappid
  for (const fields of [{ SVCappid: 'a' }, { client_id: 'a' }, { SVCappid: 'a', client_id: 'a' }]) {
    expect(readNamed(fields)).toBe('a')
  }
  expect(() => readNamed({ SVCappid: 'a', client_id: 'b' })).toThrow('SVCappid and client_id have different values.')
  expect(() => readNamed({ client_id: '' })).toThrow('The parameter SVCappid is missing.')
  expect(['SVCappid', 'client_id', 'other', 'toString'].filter((name) => isRead(named, name))).toEqual([
    'SVCappid',
    'client_id',
  ])
  expect(objectSchema(named)).toEqual(objectSchema({ SVCappid: text('An id.') }))
})

it('ignores a number that is none', () => {
  for (const expires_in of ['', '-1', '1.5', '1234567', 'soon']) {
    expect(read({ token: 't', decision: 'grant', expires_in }).expires_in).toBeNull()
  }
})

it('is described as it is read', () => {
  expect(objectSchema(form)).toEqual({
    type: 'object',
    required: ['token', 'decision'],
    properties: {
      token: { type: 'string', description: 'A token.' },
      decision: { type: 'string', enum: ['grant', 'reject'], description: 'A decision.' },
      scope: { type: 'string', description: 'Scopes.' },
      expires_in: { type: 'integer', description: 'Seconds.' },
    },
  })
})
