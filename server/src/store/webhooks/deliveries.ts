/**
 * The table webhook_deliveries, an outbox: store/audit/events.ts inserts into it in the statement that records an
 * event, flows/webhooks/send.ts sends from it.
 */
import { WEBHOOK_KINDS } from '../../core/webhooks/webhook.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

/**
 * The end of a `with` in which `recorded` is rows of audit_events: each event that applications are notified of becomes
 * one delivery per endpoint. Data about a grant comes from its row; the actor is not disclosed.
 */
export const QUEUE_RECORDED = `heard as materialized (
    select gen_random_uuid() as event_id, r.* from recorded r
    where r.kind in (${WEBHOOK_KINDS.map((kind) => `'${kind}'`).join(', ')})),
  queued as (
    insert into webhook_deliveries (endpoint_id, event_id, kind, data, created_at, due_at)
    select w.id, h.event_id, h.kind, jsonb_strip_nulls(jsonb_build_object(
        'application', h.application_id, 'account', c.slug, 'user', g.user_id, 'grant', g.id,
        'scope', array_to_string(g.scopes, ','), 'variant', g.variant, 'test', case when g.id is not null then g.test_ends_at is not null end,
        'credential', h.detail ->> 'is', 'reason', h.detail ->> 'reason', 'message', h.detail ->> 'message')),
      h.at, h.at
    from heard h
      join webhook_endpoints w on w.application_id = h.application_id and w.disabled_at is null
      left join grants g on g.id = h.grant_id
      left join accounts c on c.id = g.account_id)`

/** Queues a test, due at once, for one endpoint. False when another of this kind is still waiting there. */
export async function insertTest(tx: Transaction, endpointId: string, kind: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into webhook_deliveries (endpoint_id, event_id, kind, data, created_at, due_at)
     select w.id, gen_random_uuid(), $2, jsonb_build_object('application', w.application_id), now(), now()
     from webhook_endpoints w
     where w.id = $1 and not exists (
       select from webhook_deliveries d
       where d.endpoint_id = w.id and d.kind = $2 and d.delivered_at is null and d.given_up_at is null)`,
    [endpointId, kind],
  )
  return rowCount === 1
}

/** Condition for a query over `webhook_deliveries d`. */
const OPEN = 'd.delivered_at is null and d.given_up_at is null'

export type DueEndpoint = {
  readonly id: string
  readonly accountId: string
  readonly slow: boolean
  /** Number of due deliveries, capped at `max`. */
  readonly waiting: number
}

/**
 * Endpoints with due deliveries, in random order, so that none is always last. Each count is capped at `max`. Skips
 * through the index of open deliveries from endpoint to endpoint, so the cost grows with the endpoints that have open
 * deliveries, not with all endpoints.
 */
export async function findDueEndpoints(db: Queryable, max: number): Promise<readonly DueEndpoint[]> {
  const { rows } = await db.query<DueEndpoint>({
    name: 'find-due-endpoints',
    text: `with recursive waiting as (
        (select d.endpoint_id from webhook_deliveries d where ${OPEN} order by d.endpoint_id limit 1)
        union all
        select (select d.endpoint_id from webhook_deliveries d where ${OPEN} and d.endpoint_id > waiting.endpoint_id
          order by d.endpoint_id limit 1)
        from waiting where waiting.endpoint_id is not null)
      select w.id, a.account_id as "accountId", w.slow, due.waiting
      from waiting join webhook_endpoints w on w.id = waiting.endpoint_id
        join applications a on a.id = w.application_id
        cross join lateral (select count(*) as waiting from (
          select from webhook_deliveries d where d.endpoint_id = w.id and ${OPEN} and d.due_at <= now() limit $1) few) due
      where w.disabled_at is null and a.deleted_at is null and due.waiting > 0
      order by random()`,
    values: [max],
  })
  return rows
}

export type DueDelivery = {
  readonly id: number
  readonly eventId: string
  readonly kind: string
  readonly data: unknown
  readonly createdAt: number
  /** Completed attempts before this one. */
  readonly attempts: number
  readonly endpointId: string
  readonly url: string
  readonly keyId: number
  readonly generation: number
  /** Key of the previous secret, for a day after rotation. */
  readonly previousKeyId: number | null
  readonly slow: boolean
  readonly now: number
}

/**
 * Leases the delivery of this endpoint that has been due longest: it becomes due again after 30 seconds, in case this
 * process dies before it records the outcome. An attempt takes at most a third of that. Null when none is due.
 */
export async function takeDueDelivery(db: Queryable, endpointId: string): Promise<DueDelivery | null> {
  const { rows } = await db.query<DueDelivery>({
    name: 'take-due-delivery',
    text: `with taken as (
        update webhook_deliveries set due_at = now() + interval '30 seconds'
        where id = (
          select d.id from webhook_deliveries d where d.endpoint_id = $1 and ${OPEN} and d.due_at <= now()
          order by d.due_at, d.id limit 1 for update skip locked)
        returning *)
      select t.id, t.event_id as "eventId", t.kind, t.data, t.created_at as "createdAt", t.attempts,
        w.id as "endpointId", w.url, w.key_id as "keyId", w.generation, w.slow, now() as now,
        case when w.rotated_at > now() - interval '24 hours' then w.previous_key_id end as "previousKeyId"
      from taken t join webhook_endpoints w on w.id = t.endpoint_id
      where w.disabled_at is null`,
    values: [endpointId],
  })
  return rows[0] ?? null
}

/** `tookMs` is null if no request was sent. */
export type Tried = { readonly status: number | null; readonly error: string | null; readonly tookMs: number | null }

export async function markDelivered(db: Queryable, id: number, { status, tookMs }: Tried): Promise<void> {
  await db.query(
    `update webhook_deliveries set delivered_at = now(), attempts = attempts + 1, tried_at = now(),
       last_status = $2, last_error = null, last_took_ms = $3
     where id = $1`,
    [id, status, tookMs],
  )
}

/** `pauseMs` gets up to 20% jitter, so that deliveries that failed together are not retried together. Null: give up. */
export async function markFailed(db: Queryable, id: number, tried: Tried, pauseMs: number | null): Promise<void> {
  await db.query(
    // `delivered_at is null`: another process may have delivered it after the lease expired.
    `update webhook_deliveries set attempts = attempts + 1, tried_at = now(), last_status = $2, last_error = $3,
       last_took_ms = $4, given_up_at = case when $5::float8 is null then now() end,
       due_at = now() + coalesce($5::float8, 0) * (1 + random() / 5) * interval '1 millisecond'
     where id = $1 and delivered_at is null`,
    [id, tried.status, tried.error, tried.tookMs, pauseMs],
  )
}

/**
 * Queues a delivery again, whatever its state: due now, with its attempts reset. False when it belongs to another
 * application or its endpoint is disabled.
 */
export async function resendDelivery(tx: Transaction, applicationId: string, id: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update webhook_deliveries d set due_at = now(), attempts = 0, delivered_at = null, given_up_at = null
     from webhook_endpoints w
     where d.id = $2 and w.id = d.endpoint_id and w.application_id = $1 and w.disabled_at is null`,
    [applicationId, id],
  )
  return rowCount === 1
}

export type DeliveryLine = {
  readonly id: number
  readonly endpointId: string
  readonly url: string
  /** The endpoint is disabled: undelivered ones will never be sent. */
  readonly off: boolean
  readonly eventId: string
  readonly kind: string
  readonly createdAt: number
  readonly dueAt: number
  readonly attempts: number
  readonly triedAt: number | null
  readonly deliveredAt: number | null
  readonly givenUpAt: number | null
  readonly lastStatus: number | null
  readonly lastError: string | null
  readonly lastTookMs: number | null
}

export const MAX_DELIVERIES = 50

/** Newest first. */
export async function listDeliveries(db: Queryable, applicationId: string): Promise<readonly DeliveryLine[]> {
  const { rows } = await db.query<DeliveryLine>(
    `select d.id, w.id as "endpointId", w.url, w.disabled_at is not null as off, d.event_id as "eventId", d.kind,
       d.created_at as "createdAt", d.due_at as "dueAt", d.attempts, d.tried_at as "triedAt",
       d.delivered_at as "deliveredAt", d.given_up_at as "givenUpAt", d.last_status as "lastStatus",
       d.last_error as "lastError", d.last_took_ms as "lastTookMs"
     from webhook_endpoints w cross join lateral (
       select * from webhook_deliveries where endpoint_id = w.id order by id desc limit $2) d
     where w.application_id = $1 and w.disabled_reason is distinct from 'removed'
     order by d.id desc limit $2`,
    [applicationId, MAX_DELIVERIES],
  )
  return rows
}

export function forgetDeliveries(db: Queryable): Promise<void> {
  return forget(db, 'webhook_deliveries', "created_at < now() - interval '30 days'")
}
