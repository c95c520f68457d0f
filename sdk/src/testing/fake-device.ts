/**
 * Device flow of the fake: code requests, and polls with their six outcomes. docs/interface/device-flow.md, "Poll for authorization".
 */
import { type FakeAnswer, type FakeParameters, FakeRefused, required } from './fake-answer.ts'
import { issue, remaining } from './fake-credentials.ts'
import {
  authenticate,
  createGrant,
  type FakeCode,
  type FakeVariant,
  type FakeWorld,
  randomDigits,
  randomText,
  resolveScopes,
} from './fake-world.ts'

const MAX_STATE_BYTES = 1024
/** How long a repeated poll with the same Idempotency-Key gets the same outcome. */
const REPEAT_MS = 10 * 60_000
/** A poll before this share of the interval has passed is too early. */
const MIN_INTERVAL_SHARE = 0.9

export function requestCode(variant: FakeVariant, world: FakeWorld, parameters: FakeParameters): FakeAnswer {
  authenticate(world, required(parameters, 'SVCappid'), required(parameters, 'SVCsecret'))
  const state = parameters.get('state') ?? ''
  const code = placeCode(world, variant, parameters.get('scope'), state)
  return {
    fields: {
      device_code: code.deviceCode,
      user_code: code.userCode,
      verification_url: '',
      expires_in: world.lifetimes.code,
      interval: world.lifetimes.interval,
      state,
    },
  }
}

export function placeCode(world: FakeWorld, variant: FakeVariant, scope: string | undefined, state: string): FakeCode {
  if (world.suspended) throw new FakeRefused('application_suspended')
  if (!world.application.deviceFlow) throw new FakeRefused('device_flow_disabled')
  if (new TextEncoder().encode(state).length > MAX_STATE_BYTES) throw new FakeRefused('invalid_request')
  const code: FakeCode = {
    deviceCode: `lkd_0000${randomText(55)}`,
    userCode: randomDigits(9),
    variant,
    scopes: resolveScopes(world, scope),
    state,
    expiresAt: world.now() + world.lifetimes.code * 1000,
    status: 'pending',
    grant: null,
    lastPollAt: null,
    delivered: null,
  }
  world.codes.set(code.deviceCode, code)
  return code
}

const INVALID: FakeAnswer = { refusal: 'invalid' }

/** A request that does not match the code is answered `invalid` and changes nothing. */
export function poll(variant: FakeVariant, world: FakeWorld, parameters: FakeParameters, request: Request): FakeAnswer {
  const { id, secret } = world.application
  const known = parameters.get('SVCappid') === id && secret !== '' && parameters.get('SVCsecret') === secret
  if (!known) return INVALID
  return collect(world, variant, parameters.get('device_code') ?? '', request.headers.get('idempotency-key'))
}

export function collect(world: FakeWorld, variant: FakeVariant, deviceCode: string, key: string | null): FakeAnswer {
  const code = world.codes.get(deviceCode)
  if (code?.variant !== variant) return INVALID
  if (code.status === 'used') return repeated(world, code, key)
  if (code.status === 'pending' && world.now() < code.expiresAt) return pace(world, code)
  const answer = outcome(world, code)
  code.status = 'used'
  code.delivered = { key, answer, at: world.now() }
  return answer
}

function pace(world: FakeWorld, code: FakeCode): FakeAnswer {
  const { interval } = world.lifetimes
  const now = world.now()
  const headers = { 'retry-after': String(interval) }
  const early = code.lastPollAt !== null && now < code.lastPollAt + interval * 1000 * MIN_INTERVAL_SHARE
  if (early) return { refusal: 'slow_down', headers }
  code.lastPollAt = now
  return { refusal: 'auth_pending', headers }
}

function outcome(world: FakeWorld, { status, grant, state }: FakeCode): FakeAnswer {
  if (status === 'rejected') return { refusal: 'auth_rejected' }
  if (!grant) return { refusal: 'auth_expired' }
  return grant.revoked ? INVALID : { fields: { ...issue(world, grant), state } }
}

/** Repeats the outcome for the same key within REPEAT_MS, unless its credentials are no longer valid. */
function repeated(world: FakeWorld, { delivered, grant }: FakeCode, key: string | null): FakeAnswer {
  if (!delivered || key === null || delivered.key !== key) return INVALID
  if (world.now() >= delivered.at + REPEAT_MS) return INVALID
  if (!grant || !('fields' in delivered.answer)) return delivered.answer
  if (grant.revoked || grant.generation > 1) return INVALID
  const fields = remaining(world, delivered.answer.fields, delivered.at)
  return fields.expires_in === 0 ? INVALID : { fields }
}

/** The user's decision in the web interface. Only a pending code can be decided; `find` throws otherwise. */
export function decide(world: FakeWorld, userCode: string, decision: 'reject' | readonly string[] | null): void {
  const code = find(world, userCode)
  if (decision === 'reject') {
    code.status = 'rejected'
    return
  }
  const scopes = decision ? code.scopes.filter((name) => decision.includes(name)) : code.scopes
  code.grant = createGrant(world, code.variant, scopes)
  code.status = 'accepted'
}

export function expire(world: FakeWorld, userCode: string): void {
  find(world, userCode).status = 'expired'
}

/** Whether a code has an outcome that was not collected yet. */
export function hasOutcome(world: FakeWorld): boolean {
  return [...world.codes.values()].some(({ status }) => status !== 'pending' && status !== 'used')
}

/** Finds a pending code by its digits, in any grouping. */
function find(world: FakeWorld, typed: string): FakeCode {
  const digits = typed.replace(/\D/g, '')
  for (const code of world.codes.values()) {
    if (code.userCode === digits && code.status === 'pending' && world.now() < code.expiresAt) return code
  }
  throw new Error('No code with these digits is waiting: it was never requested, is decided already, or has expired.')
}
