/** Request of a device code by an application. docs/interface/device-flow.md, "Request a device code". */
import { deviceFlowPolicy, pollIntervalOf } from '../../core/applications/application.ts'
import { runningTestMode, type TestMode } from '../../core/applications/test-mode.ts'
import type { Variant } from '../../core/device/code.ts'
import { randomDigitsFor } from '../../core/device/user-code.ts'
import { stateProblem } from '../../core/dialog/state.ts'
import { resolveRequested, scopesNotAllowed } from '../../core/grants/scope.ts'
import { networkOf } from '../../core/network.ts'
import { UNKNOWN_NETWORK } from '../../gate/limiter.ts'
import { signDeviceCode } from '../../secrets/device-code-text.ts'
import { createDeviceCodeId } from '../../secrets/random.ts'
import { computeUserCode, digestUserCode, type StoredUserCode } from '../../secrets/user-code.ts'
import { insertDeviceCode, type NewDeviceCode } from '../../store/device/codes.ts'
import { DatabaseError, Unavailable } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'
import { withPartition } from './with-partition.ts'

export type CodeRequest = {
  readonly applicationId: string
  /** Null for a public application. */
  readonly secret: string | null
  readonly variant: Variant
  readonly scope: string | null
  readonly state: string
  readonly requestedFrom: string | null
  /** How the device names itself; shown to the user as the device's own claim. */
  readonly requestedWith: string | null
  /** A shorter lifetime, in test mode only. Null: the usual one. */
  readonly lifetimeSeconds: number | null
}

export type CodeRequestResult =
  | {
      readonly outcome: 'requested'
      readonly deviceCode: string
      readonly userCode: string
      readonly expiresInSeconds: number
      readonly intervalSeconds: number
      readonly state: string
    }
  | { readonly outcome: 'invalid_application' | 'application_suspended' | 'device_flow_disabled' }
  | { readonly outcome: 'state_not_echoable' | 'invalid_scope'; readonly reason: string }
  /** Rate limit of this network or of this application. */
  | { readonly outcome: 'too_many_requests'; readonly waitMs: number }
  /** No free user code was found, or PostgreSQL is unavailable. */
  | { readonly outcome: 'unavailable' }
  /** Rejected under overload. */
  | { readonly outcome: 'shed' }

export async function requestDeviceCode(context: Context, request: CodeRequest): Promise<CodeRequestResult> {
  const result = await placeCode(context, request)
  context.counts.codeRequests.add(result.outcome)
  return result
}

async function placeCode(context: Context, request: CodeRequest): Promise<CodeRequestResult> {
  const { applications, config, limiter, load } = context
  if (load.sheds('code')) return { outcome: 'shed' }
  const network = networkOf(request.requestedFrom)
  const limited = await limiter.codeRequest(network)
  if (!limited.passed) return { outcome: 'too_many_requests', waitMs: limited.waitMs }
  const application = applications.authenticate(request.applicationId, request.secret)
  if (!application) return { outcome: 'invalid_application' }
  if (application.suspended) return { outcome: 'application_suspended' }
  if (!application.deviceFlow) return { outcome: 'device_flow_disabled' }
  const problem = stateProblem(request.state)
  if (problem !== null) return { outcome: 'state_not_echoable', reason: problem }
  const policy = deviceFlowPolicy(application)
  const requested = resolveRequested(request.scope, policy)
  if (requested.answer === 'not_allowed') {
    const reason = scopesNotAllowed(requested.names, application.public ? null : policy.allowedScopes)
    return { outcome: 'invalid_scope', reason }
  }

  const now = applications.now()
  const code = {
    applicationId: application.id,
    variant: request.variant,
    scopes: requested.scopes,
    state: request.state,
    requestedFrom: request.requestedFrom,
    requestedWith: request.requestedWith,
    lifetimeMs: lifetimeOf(config.deviceCodeLifetimeMs, runningTestMode(application, now), request),
  }
  const queueKey = { applicationId: application.id, network: network ?? UNKNOWN_NETWORK }
  const taken = await limiter.codes.take(queueKey)
  if (!taken.passed) return { outcome: 'too_many_requests', waitMs: taken.waitMs }
  const placed = await load.enqueue(queueKey, () => placeUnderFreeUserCode(context, code))
  if (placed === null || placed === 'shed') {
    await limiter.codes.refund(queueKey)
    return { outcome: placed ?? 'unavailable' }
  }

  context.usage.count(application.id, 'requested')
  const { id, userCode, expiresAt } = placed
  const intervalSeconds = pollIntervalOf(application, config.pollIntervalSeconds)
  return {
    outcome: 'requested',
    deviceCode: signDeviceCode(config.keys, { ...code, id, expiresAt, intervalSeconds }),
    userCode,
    expiresInSeconds: code.lifetimeMs / 1000,
    intervalSeconds,
    state: request.state,
  }
}

/** A test-mode lifetime can only shorten the usual one. */
function lifetimeOf(usualMs: number, testMode: TestMode | null, { lifetimeSeconds }: CodeRequest): number {
  if (testMode === null || lifetimeSeconds === null || lifetimeSeconds < 1) return usualMs
  return Math.min(usualMs, lifetimeSeconds * 1000)
}

/** One user code in a million is already live. Each retry is a digit longer, as for ten times as many live codes. */
const TRIES = 4

/** Up to this many live codes, user codes have their minimum length. */
const FEW = 100

/** While codes are being guessed, new ones are two digits longer, as for a hundred times as many live codes. */
const GUESSED_FACTOR = 100

type Placed = { readonly id: string; readonly userCode: string; readonly expiresAt: number }

type CodeToPlace = Omit<NewDeviceCode, keyof StoredUserCode | 'userCodeDigests'>

async function placeUnderFreeUserCode(context: Context, code: CodeToPlace): Promise<Placed | null> {
  const { keys } = context.config
  try {
    const live = Math.max(context.liveCodes.count(), FEW) * (context.liveCodes.guessed ? GUESSED_FACTOR : 1)
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      const id = createDeviceCodeId(context.applications.now())
      const userCode = computeUserCode(keys.signing, id, randomDigitsFor(live * 10 ** attempt))
      const userCodeDigests = digestUserCode(keys, userCode)
      const stored = { id, keyId: keys.signing.id, userCodeDigits: userCode.length, userCodeDigests }
      const expiresAt = await place(context, { ...code, ...stored })
      if (expiresAt !== null) return { id, userCode, expiresAt }
    }
    return null
  } catch (error) {
    if (error instanceof Unavailable) return null
    throw error
  }
}

async function place(context: Context, code: NewDeviceCode): Promise<number | null> {
  const insert = () => context.db.transaction((tx) => insertDeviceCode(tx, code))
  const expiresAt = await withPartition(context.db, code.lifetimeMs, insert).catch((error: Error) => {
    if (isLiveElsewhere(error)) return null
    throw error
  })
  if (expiresAt !== null) context.liveCodes.added()
  return expiresAt
}

/** Violation of the partition's own unique index; also by a pending code that has expired but was not swept yet. */
function isLiveElsewhere(error: Error): boolean {
  return error instanceof DatabaseError && error.code === '23505'
}
