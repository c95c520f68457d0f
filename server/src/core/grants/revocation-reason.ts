/**
 * Reasons for the revocation of a grant: one closed list for the table grants, the audit log, webhooks
 * (docs/interface/webhooks.md), metrics and the sentences in pages/messages/.
 */
export const revocationReasons = [
  'account_closed',
  'application_deleted',
  'application_suspended',
  'authorization_code_refused',
  'authorization_code_reused',
  'credential_reported',
  'key_retired',
  'never_collected',
  'password_changed',
  'refresh_token_reused',
  'removed_by_administrator',
  'removed_by_operator',
  'removed_by_user',
  'revoked_by_application',
  'revoked_by_review',
  'test_mode_ended',
  'user_disabled',
  'user_erased',
  'user_reset',
] as const

export type RevocationReason = (typeof revocationReasons)[number]

/** Rows may have been written by a newer version, with reasons unknown to this one. */
export function isRevocationReason(value: unknown): value is RevocationReason {
  return (revocationReasons as readonly unknown[]).includes(value)
}

/** A credential may have leaked: the user is notified by mail. */
export type AlarmingReason = Extract<
  RevocationReason,
  'authorization_code_reused' | 'credential_reported' | 'refresh_token_reused'
>
