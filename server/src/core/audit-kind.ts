/**
 * What the audit log speaks of: every kind of event, where people look for it, and who is behind it when the event does not name
 * anybody. Whoever adds a kind adds its sentence in pages/messages/ as well; without it nothing compiles.
 */

export const auditGroups = ['sign_ins', 'people', 'access', 'own_applications', 'account'] as const

/** What people choose from to find an event again. */
export type AuditGroup = (typeof auditGroups)[number]

/**
 * `user` is the one whom the event is about; `somebody` was not signed in, so nobody knows. `operator` is whoever runs the
 * service, at the command line or in the console.
 */
export type AuditActor = 'user' | 'operator' | 'application' | 'service' | 'somebody'

type About = { readonly group: AuditGroup; readonly by: AuditActor }

export const auditKinds = {
  'account.created': { group: 'account', by: 'operator' },
  'account.policy_changed': { group: 'account', by: 'operator' },
  'account.looks_changed': { group: 'account', by: 'operator' },
  'audit.exported': { group: 'account', by: 'operator' },
  'scope.created': { group: 'account', by: 'operator' },
  'role.created': { group: 'people', by: 'operator' },
  'role.changed': { group: 'people', by: 'operator' },
  'role.removed': { group: 'people', by: 'operator' },
  'user.created': { group: 'people', by: 'operator' },
  'user.invited': { group: 'people', by: 'operator' },
  'user.roles_changed': { group: 'people', by: 'operator' },
  'user.disabled': { group: 'people', by: 'operator' },
  'user.enabled': { group: 'people', by: 'operator' },
  'user.reset': { group: 'people', by: 'operator' },
  'user.link_created': { group: 'people', by: 'operator' },
  'session.started': { group: 'sign_ins', by: 'user' },
  'session.ended_everywhere': { group: 'sign_ins', by: 'user' },
  'user.password_set': { group: 'sign_ins', by: 'user' },
  'user.recovery_requested': { group: 'sign_ins', by: 'somebody' },
  'user.passkey_added': { group: 'sign_ins', by: 'user' },
  'user.passkey_removed': { group: 'sign_ins', by: 'user' },
  'user.authenticator_added': { group: 'sign_ins', by: 'user' },
  'user.authenticator_removed': { group: 'sign_ins', by: 'user' },
  'entry.locked': { group: 'access', by: 'user' },
  'code.claimed': { group: 'access', by: 'user' },
  'code.released': { group: 'access', by: 'user' },
  'code.reported': { group: 'access', by: 'user' },
  'code.crowd': { group: 'access', by: 'service' },
  'code.closed': { group: 'access', by: 'user' },
  'code.rejected': { group: 'access', by: 'user' },
  'dialog.denied': { group: 'access', by: 'user' },
  'grant.created': { group: 'access', by: 'user' },
  'grant.issued': { group: 'access', by: 'application' },
  'grant.key_rotated': { group: 'access', by: 'application' },
  'grant.revoked': { group: 'access', by: 'service' },
  'credential.reported': { group: 'access', by: 'somebody' },
  'application.reported': { group: 'access', by: 'user' },
  'application.created': { group: 'own_applications', by: 'operator' },
  'application.changed': { group: 'own_applications', by: 'operator' },
  'application.publisher_set': { group: 'own_applications', by: 'operator' },
  'application.suspended': { group: 'own_applications', by: 'operator' },
  'application.restored': { group: 'own_applications', by: 'operator' },
  'application.secret_rotated': { group: 'own_applications', by: 'operator' },
  'application.secret_revoked': { group: 'own_applications', by: 'operator' },
  'application.redirects_set': { group: 'own_applications', by: 'operator' },
  'scope.changed': { group: 'account', by: 'operator' },
  'application.judged': { group: 'own_applications', by: 'service' },
  'application.warned': { group: 'own_applications', by: 'service' },
  'application.appealed': { group: 'own_applications', by: 'user' },
  'grant.restored': { group: 'access', by: 'operator' },
  'review.proposed': { group: 'own_applications', by: 'operator' },
  'review.decided': { group: 'own_applications', by: 'operator' },
  'review.undone': { group: 'own_applications', by: 'operator' },
  'rule.changed': { group: 'account', by: 'operator' },
  'webhook.added': { group: 'own_applications', by: 'user' },
  'webhook.removed': { group: 'own_applications', by: 'user' },
  'webhook.secret_rotated': { group: 'own_applications', by: 'user' },
  'webhook.tested': { group: 'own_applications', by: 'user' },
  'webhook.resent': { group: 'own_applications', by: 'user' },
  'webhook.gone': { group: 'own_applications', by: 'service' },
  'application.logo_changed': { group: 'own_applications', by: 'user' },
  'application.face_proposed': { group: 'own_applications', by: 'user' },
  'application.face_withdrawn': { group: 'own_applications', by: 'user' },
  'application.face_accepted': { group: 'own_applications', by: 'operator' },
  'application.face_declined': { group: 'own_applications', by: 'operator' },
  'application.publisher_proven': { group: 'own_applications', by: 'user' },
  'application.publisher_removed': { group: 'own_applications', by: 'user' },
  'application.publisher_missing': { group: 'own_applications', by: 'service' },
  'application.publisher_lost': { group: 'own_applications', by: 'service' },
} as const satisfies Readonly<Record<string, About>>

export type AuditKind = keyof typeof auditKinds

export const everyAuditKind = Object.keys(auditKinds) as readonly AuditKind[]

/** An older version may read what a newer one wrote. */
export function isAuditKind(text: string): text is AuditKind {
  return Object.hasOwn(auditKinds, text)
}

export function isAuditGroup(text: string): text is AuditGroup {
  return (auditGroups as readonly string[]).includes(text)
}

export function kindsIn(group: AuditGroup): readonly AuditKind[] {
  return everyAuditKind.filter((kind) => auditKinds[kind].group === group)
}
