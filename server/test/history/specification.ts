/**
 * Sequential specification of one device code: the answer to each request if requests were handled one at a time. Its
 * rules are those of the reference model, without leases and without a clock: a delivered outcome was sent, and the end of
 * the lifetime is an operation like any other.
 *
 * Not specified, because it depends on time alone: whether a pending poll is told `auth_pending` or `slow_down`.
 */
import { LEASE_MS, type Outcome, ReferenceCode } from '../model/reference-model.ts'
import { type Answer, type Call, isPending, type Operation, type Poll, plain } from './history.ts'

export type State = {
  readonly requested: boolean
  readonly expired: boolean
  readonly claimedBy: string | null
  readonly account: string | null
  readonly person: string | null
  readonly takenOver: boolean
  /** The user of another account who entered the code as well. */
  readonly closedBy: string | null
  readonly decision: 'accepted' | 'rejected' | null
  /** The outcome that was delivered, and the Idempotency-Key of the poll that got it. */
  readonly sent: Outcome | null
  readonly key: string | null
  /** The credentials that were heard of. */
  readonly credentials: string | null
}

export const NOT_REQUESTED: State = {
  requested: false,
  expired: false,
  claimedBy: null,
  account: null,
  person: null,
  takenOver: false,
  closedBy: null,
  decision: null,
  sent: null,
  key: null,
  credentials: null,
}

/** Equal for equal states. */
export function textOf(state: State): string {
  const { requested, expired, claimedBy, account, person, takenOver, closedBy } = state
  const { decision, sent, key, credentials } = state
  return [requested, expired, claimedBy, account, person, takenOver, closedBy, decision, sent, key, credentials].join(
    '|',
  )
}

/** Whether this answer to this call implies that the state does not change. */
export function changesNothing({ call, answer }: Operation): boolean {
  return answer !== null && (UNCHANGING[call.do] ?? []).includes(answer.is)
}

const UNCHANGING: Readonly<Partial<Record<Call['do'], readonly string[]>>> = {
  poll: ['auth_pending', 'slow_down', 'invalid'],
  grant: ['not_open'],
  reject: ['not_open'],
  enter: ['taken'],
}

/** What the code becomes if this operation comes next; null if its answer is not allowed then. */
export function step(state: State, { call, answer }: Operation): State | null {
  const { next, expected } = apply(state, call)
  if (answer === null) return next
  if (!allows(expected, answer)) return null
  return answer.credentials === null ? next : { ...next, credentials: answer.credentials }
}

/** The answer and the next state. The credentials are null as long as nobody has heard of them. */
export function apply(state: State, call: Call): { readonly next: State; readonly expected: Answer } {
  if (call.do === 'request') {
    return state.requested
      ? { next: state, expected: plain('another code') }
      : { next: { ...state, requested: true }, expected: plain('requested') }
  }
  if (!state.requested) return { next: state, expected: plain('unknown code') }
  const code = restore(state)
  const is = answerOf(code, call)
  const credentials = is === 'accepted' ? state.credentials : null
  return { next: capture(code, state), expected: { is, credentials } }
}

function answerOf(code: ReferenceCode, call: Call): string {
  switch (call.do) {
    case 'request':
      return 'another code'
    case 'enter':
      return code.enter(call.user, call.account, call.person, call.instead)
    case 'grant':
      return code.grant(call.user)
    case 'reject':
      return code.reject(call.user)
    case 'unclaim':
      code.unclaim(call.user)
      return 'released'
    case 'expire':
      code.now = code.expiresAt
      return 'expired'
    case 'poll':
      return call.path === 'own' ? pollAndSend(code, call) : 'invalid'
  }
}

function pollAndSend(code: ReferenceCode, { key }: Poll): string {
  const answer = code.poll(SENT, false, key).replace(/ again$/, '')
  code.confirm(SENT)
  return answer === 'rejected' || answer === 'expired' ? `auth_${answer}` : answer
}

function allows(expected: Answer, answer: Answer): boolean {
  if (isPending(expected)) return isPending(answer)
  const sameCredentials = expected.credentials === null || expected.credentials === answer.credentials
  return expected.is === answer.is && sameCredentials
}

/** Id of the one poll that holds a lease. */
const SENT = 'sent'

/** Times of the reference model: before and after the end of the lifetime. */
const [BEFORE, EXPIRY] = [0, 1]

function restore(state: State): ReferenceCode {
  const code = new ReferenceCode(state.expired ? EXPIRY : BEFORE, EXPIRY)
  const lease = state.sent === null ? null : { id: SENT, until: LEASE_MS, key: state.key }
  const { claimedBy, account, person, takenOver, closedBy, decision, sent } = state
  return Object.assign(code, { claimedBy, account, person, takenOver, closedBy, decision, sent, lease })
}

function capture(code: ReferenceCode, { requested, credentials }: State): State {
  const { claimedBy, account, person, takenOver, closedBy, decision, sent } = code
  // After a decision, or when it was closed, the end of the lifetime makes no difference.
  const expired = decision === null && closedBy === null && sent === null && code.now >= code.expiresAt
  const key = sent === null ? null : (code.lease?.key ?? null)
  return { requested, expired, claimedBy, account, person, takenOver, closedBy, decision, sent, key, credentials }
}
