/**
 * The table audit_events: the audit log, written in the transaction of the change it records. Holds ids only, never a
 * secret. Append-only; store/audit/seals.ts chains the events afterwards.
 */
import type { Actor } from '../../core/audit/actor.ts'
import type { AuditKind } from '../../core/audit/kind.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { QUEUE_RECORDED } from '../webhooks/deliveries.ts'

export type AuditEvent = {
  readonly kind: AuditKind
  readonly actor: Actor
  /** The account, user, application, grant and code that the event is about. */
  readonly accountId?: string
  readonly userId?: string
  readonly applicationId?: string
  readonly grantId?: string
  readonly deviceCodeId?: string
  readonly detail?: Readonly<Record<string, unknown>>
}

export async function recordEvent(tx: Transaction, event: AuditEvent): Promise<void> {
  const { kind, actor, accountId, userId, applicationId, grantId, deviceCodeId, detail = {} } = event
  await tx.query({
    name: 'record-event',
    text: `with ${recordAll(`select now(), $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text,
      $8::text, $9::uuid, $10::jsonb`)} select`,
    values: [
      kind,
      ...[actor.kind, actor.id, actor.via],
      accountId ?? null,
      userId ?? null,
      applicationId ?? null,
      grantId ?? null,
      deviceCodeId ?? null,
      JSON.stringify(detail),
    ],
  })
}

/** Whether an event of this kind was recorded for the application within the last day. */
export async function hasEventOfToday(
  db: Queryable,
  event: Required<Pick<AuditEvent, 'kind' | 'applicationId'>>,
): Promise<boolean> {
  const { rows } = await db.query<{ recent: boolean }>(
    `select exists (select from audit_events
       where application_id = $1 and kind = $2 and at > now() - interval '1 day') as recent`,
    [event.applicationId, event.kind],
  )
  return rows[0]?.recent ?? false
}

/** Every later event of the transaction gets the network in its detail, whichever flow records it. */
export async function nameNetwork(tx: Transaction, network: string | null): Promise<void> {
  await tx.query("select set_config('latchkey.network', $1, true)", [network ?? ''])
}

/**
 * A `with` clause that inserts events and returns them as `recorded`. `select` yields at, kind, actor_kind, actor_id,
 * via, account_id, user_id, application_id, grant_id, device_code_id and detail. Every insert uses it, so that the
 * webhooks of an event are queued in the same statement.
 */
export function recordAll(select: string): string {
  return `recorded as (
      insert into audit_events (${COLUMNS}, detail)
      select ${COLUMNS}, detail || jsonb_strip_nulls(jsonb_build_object('network', nullif(current_setting('latchkey.network', true), '')))
      from (${select}) as event (${COLUMNS}, detail)
      returning *),
    ${QUEUE_RECORDED}`
}

const COLUMNS = 'at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, grant_id, device_code_id'

/** Whether an event of this kind was recorded for the account and the application within the last hour. */
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
