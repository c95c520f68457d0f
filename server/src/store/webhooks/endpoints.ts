/** The table webhook_endpoints: URLs for an application's webhooks. The signing secrets are not stored. */

import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

export type WebhookEndpoint = {
  readonly id: string
  readonly url: string
  readonly keyId: number
  readonly generation: number
  readonly createdAt: number
  /** Null: never, or more than a day ago, so that only one secret signs. */
  readonly rotatedAt: number | null
  /** It answered 410 and receives nothing more. */
  readonly gone: boolean
}

const ENDPOINT = `select w.id, w.url, w.key_id as "keyId", w.generation, w.created_at as "createdAt",
    case when w.rotated_at > now() - interval '24 hours' then w.rotated_at end as "rotatedAt",
    w.disabled_at is not null as gone
  from webhook_endpoints w where w.application_id = $1 and w.disabled_reason is distinct from 'removed'`

/** Includes endpoints that are gone, until they are removed or purged. */
export async function listEndpoints(db: Queryable, applicationId: string): Promise<readonly WebhookEndpoint[]> {
  const { rows } = await db.query<WebhookEndpoint>(`${ENDPOINT} order by w.created_at, w.id`, [applicationId])
  return rows
}

export async function findEndpoint(db: Queryable, applicationId: string, id: string): Promise<WebhookEndpoint | null> {
  const { rows } = await db.query<WebhookEndpoint>(`${ENDPOINT} and w.id = $2`, [applicationId, id])
  return rows[0] ?? null
}

export type NewEndpoint = Pick<WebhookEndpoint, 'id' | 'url' | 'keyId'> & { readonly applicationId: string }

export async function insertEndpoint(tx: Transaction, endpoint: NewEndpoint): Promise<void> {
  await tx.query(
    'insert into webhook_endpoints (id, application_id, url, key_id, created_at) values ($1, $2, $3, $4, now())',
    [endpoint.id, endpoint.applicationId, endpoint.url, endpoint.keyId],
  )
}

/** Returns the new generation. The previous one also signs for another day. */
export async function rotateEndpoint(tx: Transaction, id: string, keyId: number): Promise<number> {
  const { rows } = await tx.query<{ generation: number }>(
    `update webhook_endpoints
     set generation = generation + 1, previous_key_id = key_id, key_id = $2, rotated_at = now()
     where id = $1 returning generation`,
    [id, keyId],
  )
  return rows[0]?.generation ?? 0
}

/**
 * Returns the application's id; null when it was already disabled. Its waiting deliveries are left as they are and
 * purged later.
 */
export async function disableEndpoint(tx: Transaction, id: string, reason: 'removed' | 'gone'): Promise<string | null> {
  const { rows } = await tx.query<{ application_id: string }>(
    `update webhook_endpoints set disabled_at = coalesce(disabled_at, now()), disabled_reason = $2
     where id = $1 and (disabled_at is null or ($2 = 'removed' and disabled_reason = 'gone'))
     returning application_id`,
    [id, reason],
  )
  return rows[0]?.application_id ?? null
}

export async function markSlow(db: Queryable, id: string, slow: boolean): Promise<void> {
  await db.query('update webhook_endpoints set slow = $2 where id = $1 and slow <> $2', [id, slow])
}

/** Purges endpoints 30 days after they were disabled, once their deliveries, which refer to them, are purged. */
export function forgetEndpoints(db: Queryable): Promise<void> {
  return forget(
    db,
    'webhook_endpoints',
    `disabled_at < now() - interval '30 days'
       and not exists (select from webhook_deliveries d where d.endpoint_id = webhook_endpoints.id)`,
  )
}
