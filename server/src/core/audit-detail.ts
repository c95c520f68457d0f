/** What an event says beside whom and what it is about: which of it an account may read, and who was behind the event. */
import { type AuditActor, auditKinds, isAuditKind } from './audit-kind.ts'

/**
 * Shown to the account that the event belongs to, each with a name in pages/messages/. What is not here is for operators: an
 * event that is recorded tomorrow shows an account nothing that nobody thought about.
 */
export const auditDetails = [
  'added',
  'allowedScopes',
  'changed',
  'dangerous',
  'defaultScopes',
  'deviceFlow',
  'format',
  'how',
  'is',
  'name',
  'network',
  'people',
  'reason',
  'redirectUris',
  'removed',
  'renamed',
  'requestedFrom',
  'requestedNetwork',
  'requiredScopes',
  'revokedSecrets',
  'role',
  'roles',
  'rows',
  'scope',
  'scopes',
  'secret',
  'sessions',
  'standing',
  'testMode',
  'way',
  'why',
] as const

export type AuditDetailName = (typeof auditDetails)[number]

export function isAuditDetail(name: string): name is AuditDetailName {
  return (auditDetails as readonly string[]).includes(name)
}

/** Why a grant ended, each with a sentence in pages/messages/. */
export const endReasons = [
  'application_deleted',
  'application_suspended',
  'authorization_code_refused',
  'authorization_code_reused',
  'credential_reported',
  'never_collected',
  'password_changed',
  'refresh_token_reused',
  'removed_by_administrator',
  'removed_by_user',
  'revoked_by_application',
  'user_disabled',
] as const

export type EndReason = (typeof endReasons)[number]

export function isEndReason(text: string): text is EndReason {
  return (endReasons as readonly string[]).includes(text)
}

export type AuditDetail = Readonly<Record<string, unknown>>

/** A person by their id, or one of the others. */
export type Doer = { readonly person: string } | { readonly is: Exclude<AuditActor, 'user'> }

/** `by` names whoever did it; where it names a way (a code, a link), it is whoever usually does. */
export function doerOf(event: {
  readonly kind: string
  readonly userId: string | null
  readonly detail: AuditDetail
}): Doer {
  const { by, why } = event.detail
  if (isUserId(by)) return { person: by }
  if (by === 'operator') return { is: 'operator' }
  if (why === 'revoked_by_application') return { is: 'application' }
  const usual = isAuditKind(event.kind) ? auditKinds[event.kind].by : 'service'
  if (usual !== 'user') return { is: usual }
  return event.userId === null ? { is: 'somebody' } : { person: event.userId }
}

/** What is left to say once it is said who did it: by name, and for whom it is meant. */
export function tellableDetail(detail: AuditDetail, toAccount: boolean): AuditDetail {
  const { by, ...rest } = detail
  const way = by === undefined || by === 'operator' || by === 'user' || isUserId(by) ? {} : { way: by }
  const told = Object.entries({ ...way, ...rest }).filter(([name]) => !toAccount || isAuditDetail(name))
  return Object.fromEntries(told)
}

function isUserId(value: unknown): value is string {
  return typeof value === 'string' && /^usr_[0-9a-z]{12}$/.test(value)
}
