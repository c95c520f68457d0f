/** The secret of an endpoint is computed, never stored; signatures are checked with the standard's own library. */
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { webhookHeaders, webhookSecret } from '../../src/secrets/webhook-secret.ts'

const [first, second] = [createKey(1), createKey(2)]
const keys = parseKeyset(first) as Keyset
const rotated = parseKeyset(`${second},${first}`) as Keyset

const REFERENCE = { endpointId: 'whk_k3v9m2x7q4tz', keyId: 1, generation: 1 }
const secret = webhookSecret(keys, REFERENCE) ?? ''

describe('the secret', () => {
  test('is whsec_ and 32 bytes in base64, the same each time, also after a key rotation', () => {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(webhookSecret(keys, REFERENCE)).toBe(secret)
    expect(webhookSecret(rotated, REFERENCE)).toBe(secret)
  })

  test.each([
    ['another endpoint', { endpointId: 'whk_k3v9m2x7q4ty' }],
    ['the next generation', { generation: 2 }],
    ['another key', { keyId: 2 }],
    ['an id that runs into the generation', { endpointId: 'whk_k3v9m2x7q4tz.1', generation: 1 }],
  ])('is another one for %s', (_, other) => {
    expect(webhookSecret(rotated, { ...REFERENCE, ...other })).not.toBe(secret)
  })

  test('is lost with its key', () => {
    expect(webhookSecret(parseKeyset(second) as Keyset, REFERENCE)).toBeNull()
  })
})

describe('the signature', () => {
  const message = { id: 'evt_1f81eb5251984599803e771906343485', at: Date.now(), body: '{"type":"grant.created"}' }
  const next = webhookSecret(keys, { ...REFERENCE, generation: 2 }) ?? ''

  test('is accepted by a receiver that has the secret, and gives back what was sent', () => {
    const headers = webhookHeaders([secret], message)
    expect(new Webhook(secret).verify(message.body, headers)).toEqual({ type: 'grant.created' })
    expect(headers).toEqual({
      'webhook-id': message.id,
      'webhook-timestamp': String(Math.floor(message.at / 1000)),
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    })
  })

  test.each([
    ['the body', '{"type":"grant.revoked"}', {}],
    ['the id', message.body, { 'webhook-id': 'evt_2f81eb5251984599803e771906343485' }],
    ['the time', message.body, { 'webhook-timestamp': String(Math.floor(message.at / 1000) - 1) }],
  ])('is not accepted when %s is another', (_, body, other) => {
    const headers = { ...webhookHeaders([secret], message), ...other }
    expect(() => new Webhook(secret).verify(body, headers)).toThrow('No matching signature')
  })

  test('during a rotation is accepted with either secret, and with no other', () => {
    const headers = webhookHeaders([next, secret], message)
    expect(headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
    for (const held of [secret, next]) new Webhook(held).verify(message.body, headers)
    const other = webhookSecret(keys, { ...REFERENCE, generation: 3 }) ?? ''
    expect(() => new Webhook(other).verify(message.body, headers)).toThrow('No matching signature')
  })
})
