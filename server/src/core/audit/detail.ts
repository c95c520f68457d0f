/** Detail of audit events: the fields that the account which an event belongs to may read. */

/**
 * Fields shown to the account that the event belongs to, each with a name in pages/messages/. All others are for
 * operators only: an allow-list, so that a field added later is not disclosed by accident.
 */
export const auditDetails = [
  'added',
  'allowedScopes',
  'browser',
  'changed',
  'count',
  'dangerous',
  'defaultScopes',
  'deviceFlow',
  'flow',
  'format',
  'hour',
  'how',
  'is',
  'issuer',
  'link',
  'managementKey',
  'message',
  'name',
  'network',
  'networks',
  'people',
  'permissions',
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

/** The detail as its reader may see it: an account the fields in `auditDetails`, an operator all of them. */
export function visibleDetail(detail: AuditDetail, toAccount: boolean): AuditDetail {
  return Object.fromEntries(Object.entries(detail).filter(([name]) => !toAccount || isAuditDetail(name)))
}
