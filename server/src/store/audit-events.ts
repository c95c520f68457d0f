/** The table audit_events: what happened, written in the same transaction that made it happen. Ids only, never a secret. */
import type { Queryable, Transaction } from './postgres.ts'

export type AuditEvent = {
  readonly kind:
    | 'account.created'
    | 'account.policy_changed'
    | 'account.looks_changed'
    | 'role.created'
    | 'role.changed'
    | 'role.removed'
    | 'user.created'
    | 'user.invited'
    | 'user.roles_changed'
    | 'user.disabled'
    | 'user.enabled'
    | 'user.reset'
    | 'user.link_created'
    | 'scope.created'
    | 'application.created'
    | 'application.publisher_set'
    | 'application.reported'
    | 'application.suspended'
    | 'application.restored'
    | 'application.secret_rotated'
    | 'application.redirects_set'
    | 'application.changed'
    | 'application.secret_revoked'
    | 'application.logo_changed'
    | 'application.face_proposed'
    | 'application.face_withdrawn'
    | 'application.face_accepted'
    | 'application.face_declined'
    | 'application.publisher_proven'
    | 'application.publisher_removed'
    | 'application.publisher_missing'
    | 'application.publisher_lost'
    | 'session.started'
    | 'session.ended_everywhere'
    | 'user.password_set'
    | 'user.recovery_requested'
    | 'user.passkey_added'
    | 'user.passkey_removed'
    | 'user.authenticator_added'
    | 'user.authenticator_removed'
    | 'entry.locked'
    | 'code.claimed'
    | 'code.released'
    | 'code.reported'
    | 'code.crowd'
    | 'code.closed'
    | 'code.rejected'
    | 'dialog.denied'
    | 'grant.created'
    | 'grant.issued'
    | 'grant.key_rotated'
    | 'grant.revoked'
    | 'credential.reported'
  readonly accountId?: string
  readonly userId?: string
  readonly applicationId?: string
  readonly grantId?: string
  readonly deviceCodeId?: string
  readonly detail?: Readonly<Record<string, unknown>>
}

export async function recordEvent(tx: Transaction, event: AuditEvent): Promise<void> {
  await tx.query({
    name: 'record-event',
    text: `insert into audit_events (at, kind, account_id, user_id, application_id, grant_id, device_code_id, detail)
      values (now(), $1, $2, $3, $4, $5, $6, $7)`,
    values: [
      event.kind,
      event.accountId ?? null,
      event.userId ?? null,
      event.applicationId ?? null,
      event.grantId ?? null,
      event.deviceCodeId ?? null,
      JSON.stringify(event.detail ?? {}),
    ],
  })
}

/** Did this happen to the account and the application within the last hour? */
export async function hasRecentEvent(
  db: Queryable,
  event: Required<Pick<AuditEvent, 'kind' | 'accountId' | 'applicationId'>>,
): Promise<boolean> {
  const { rows } = await db.query<{ recent: boolean }>(
    `select exists (select from audit_events
       where account_id = $1 and application_id = $2 and kind = $3 and at > now() - interval '1 hour') as recent`,
    [event.accountId, event.applicationId, event.kind],
  )
  return rows[0]?.recent ?? false
}
