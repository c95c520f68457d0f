/**
 * Kinds of audit events. Each has its sentence in pages/messages/ under `audit_kind`; a kind without one does not
 * compile.
 */

export const auditGroups = ['sign_ins', 'people', 'access', 'own_applications', 'account'] as const

/** Filter of the audit pages. */
export type AuditGroup = (typeof auditGroups)[number]

/** Every kind with its group. */
export const auditKinds = {
  'account.created': 'account',
  'account.changed': 'account',
  'account.closed': 'account',
  'account.policy_changed': 'account',
  'account.branding_changed': 'account',
  'account.provider_changed': 'account',
  'audit.detached': 'account',
  'audit.exported': 'account',
  'database.restored': 'account',
  'database.restore_finished': 'account',
  'key.retired': 'account',
  'management_key.created': 'account',
  'management_key.rotated': 'account',
  'management_key.revoked': 'account',
  'management_key.network_added': 'account',
  'management_key.refused': 'account',
  'scope.created': 'account',
  'role.created': 'people',
  'role.changed': 'people',
  'role.removed': 'people',
  'user.created': 'people',
  'user.invited': 'people',
  'user.roles_changed': 'people',
  'user.updated': 'people',
  'user.address_requested': 'people',
  'user.address_kept': 'people',
  'user.linked': 'people',
  'user.disabled': 'people',
  'user.enabled': 'people',
  'user.reset': 'people',
  'user.erased': 'people',
  'user.link_created': 'people',
  'operator.proposed': 'people',
  'operator.confirmed': 'people',
  'operator.declined': 'people',
  'operator.withdrawn': 'people',
  'operator.expired': 'people',
  'operator.changed_alone': 'people',
  'session.started': 'sign_ins',
  'session.ended': 'sign_ins',
  'session.ended_everywhere': 'sign_ins',
  'session.confirmed': 'sign_ins',
  'session.refused': 'sign_ins',
  'session.locked': 'sign_ins',
  'session.slowed': 'sign_ins',
  'page.refused': 'sign_ins',
  'user.password_set': 'sign_ins',
  'user.recovery_requested': 'sign_ins',
  'user.passkey_added': 'sign_ins',
  'user.passkey_removed': 'sign_ins',
  'user.authenticator_added': 'sign_ins',
  'user.authenticator_removed': 'sign_ins',
  'user.recovery_codes_created': 'sign_ins',
  'user.recovery_code_used': 'sign_ins',
  'entry.locked': 'access',
  'code.claimed': 'access',
  'code.released': 'access',
  'code.reported': 'access',
  'code.crowd': 'access',
  'code.also_entered': 'access',
  'code.moved_away': 'access',
  'code.taken_over': 'access',
  'code.closed': 'access',
  'code.entered_elsewhere': 'access',
  'code.rejected': 'access',
  'dialog.denied': 'access',
  'grant.created': 'access',
  'grant.issued': 'access',
  'grant.key_rotated': 'access',
  'grant.revoked': 'access',
  'credential.reported': 'access',
  'application.reported': 'access',
  'application.created': 'own_applications',
  'application.changed': 'own_applications',
  'application.publisher_set': 'own_applications',
  'application.suspended': 'own_applications',
  'application.restored': 'own_applications',
  'application.deleted': 'own_applications',
  'application.secret_rotated': 'own_applications',
  'application.secret_revoked': 'own_applications',
  'application.test_mode_started': 'own_applications',
  'application.test_mode_ended': 'own_applications',
  'scope.changed': 'account',
  'application.judged': 'own_applications',
  'application.warned': 'own_applications',
  'application.appealed': 'own_applications',
  'grant.restored': 'access',
  'review.proposed': 'own_applications',
  'review.decided': 'own_applications',
  'review.withdrawn': 'own_applications',
  'webhook.added': 'own_applications',
  'webhook.removed': 'own_applications',
  'webhook.secret_rotated': 'own_applications',
  'webhook.tested': 'own_applications',
  'webhook.resent': 'own_applications',
  'webhook.gone': 'own_applications',
  'application.logo_changed': 'own_applications',
  'application.profile_proposed': 'own_applications',
  'application.profile_withdrawn': 'own_applications',
  'application.profile_accepted': 'own_applications',
  'application.profile_declined': 'own_applications',
  'application.vetting_requested': 'own_applications',
  'application.vetted': 'own_applications',
  'application.vetting_declined': 'own_applications',
  'application.vetting_withdrawn': 'own_applications',
  'application.publisher_proven': 'own_applications',
  'application.publisher_removed': 'own_applications',
  'application.publisher_missing': 'own_applications',
  'application.publisher_lost': 'own_applications',
} as const satisfies Readonly<Record<string, AuditGroup>>

export type AuditKind = keyof typeof auditKinds

export const everyAuditKind = Object.keys(auditKinds) as readonly AuditKind[]

/** Rows may have been written by a newer version, with kinds unknown to this one. */
export function isAuditKind(text: string): text is AuditKind {
  return Object.hasOwn(auditKinds, text)
}

export function isAuditGroup(text: string): text is AuditGroup {
  return (auditGroups as readonly string[]).includes(text)
}

export function kindsIn(group: AuditGroup): readonly AuditKind[] {
  return everyAuditKind.filter((kind) => auditKinds[kind] === group)
}
