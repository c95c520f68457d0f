/**
 * The table audit_events: what happened, written in the same transaction that made it happen. Ids only, never a secret. It is
 * only ever added to; store/audit-seals.ts makes a chain of it afterwards.
 */
import type { AuditKind } from '../core/audit-kind.ts'
import type { Queryable, Transaction } from './postgres.ts'

export type AuditEvent = {
  readonly kind: AuditKind
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
