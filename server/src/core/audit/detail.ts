/** The detail of audit events: which fields the account that an event belongs to may read. */

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
  'flow',
  'format',
  'how',
  'is',
  'link',
  'message',
  'name',
  'network',
  'people',
  'pkceRequired',
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
  'status',
  'testMode',
] as const

export type AuditDetailName = (typeof auditDetails)[number]

export function isAuditDetail(name: string): name is AuditDetailName {
  return (auditDetails as readonly string[]).includes(name)
}

export type AuditDetail = Readonly<Record<string, unknown>>

/** The detail of an event for its reader: an account reads what has a name in `auditDetails`, an operator all of it. */
export function visibleDetail(detail: AuditDetail, toAccount: boolean): AuditDetail {
  return Object.fromEntries(Object.entries(detail).filter(([name]) => !toAccount || isAuditDetail(name)))
}
