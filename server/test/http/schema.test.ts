/** One schema reads the parameters of an endpoint and describes them. */
import { expect, it } from 'vitest'
import { refusals } from '../../src/core/refusal.ts'
import { objectSchema } from '../../src/http/openapi/document.ts'
import { integer, oneOf, optional, parse, text } from '../../src/http/schema.ts'

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
