/** What waits for an operator, or fails, besides the review queue. */
import type { Attention } from '../../core/operator/attention.ts'
import type { Queryable } from '../postgres/postgres.ts'
import { readRestores } from '../restore/restores.ts'

/** An endpoint fails when it did not take a delivery this often: the pauses between the attempts are minutes by then. */
const FAILED_ATTEMPTS = 3

/** Condition over `webhook_endpoints w`. */
export const ENDPOINT_FAILS = `exists (select from webhook_deliveries d
  where d.endpoint_id = w.id and d.delivered_at is null and d.given_up_at is null and d.attempts >= ${FAILED_ATTEMPTS})`

/** Applications with failing endpoints that are named. */
const MAX_NAMED = 5

export async function readAttention(db: Queryable): Promise<Attention> {
  const { rows } = await db.query<Omit<Attention, 'failingWebhooks' | 'restore'>>(
    `select
       (select count(*) from review_decisions where took_effect_at is null and withdrawn_at is null) as decisions,
       (select count(*) from operator_changes where outcome is null and expires_at > now()) as "operatorChanges",
       (select count(*) from applications where suspended_at is not null and deleted_at is null) as suspended`,
  )
  const failing = await db.query<{ id: string; name: string; total: number }>(
    `select a.id, a.name, count(*) over () as total
     from webhook_endpoints w join applications a on a.id = w.application_id
     where w.disabled_at is null and a.deleted_at is null and ${ENDPOINT_FAILS}
     group by a.id order by a.name, a.id limit ${MAX_NAMED}`,
  )
  const [counts] = rows
  if (!counts) throw new Error('a query without a table returned no row')
  const applications = failing.rows.map(({ id, name }) => ({ id, name }))
  const restore = await readUnfinished(db)
  return { ...counts, restore, failingWebhooks: { count: failing.rows[0]?.total ?? 0, applications } }
}

async function readUnfinished(db: Queryable): Promise<Attention['restore']> {
  const [newest] = await readRestores(db, 1)
  if (!newest || newest.finished) return null
  const { noticedAt, lostSince, journalled, repeated, toAccept } = newest
  return { since: lostSince ?? noticedAt, journalled, lostGrants: repeated.lostGrants ?? 0, toAccept: toAccept.length }
}
