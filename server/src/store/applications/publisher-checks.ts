/** The table publisher_checks, and the columns of applications about publishers' DNS records. */

import type { ProvenPublisher } from '../../core/applications/publisher-domain.ts'
import { ACCOUNT_CHECKS, type CheckHistory } from '../../core/sign-in/attempts.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

/** Call under `lockAccount`. */
export async function readCheckHistory(
  tx: Transaction,
  accountId: string,
  applicationId: string,
): Promise<CheckHistory> {
  const ages = `select array_agg((extract(epoch from now() - at) * 1000)::float8 order by at desc) from publisher_checks
    where account_id = $1 and at > now() - interval '${ACCOUNT_CHECKS.windowMs} milliseconds'`
  const { rows } = await tx.query<{ application: number[] | null; account: number[] | null }>(
    `select (${ages} and application_id = $2) as application, (${ages}) as account`,
    [accountId, applicationId],
  )
  return { application: rows[0]?.application ?? [], account: rows[0]?.account ?? [] }
}

export async function recordCheck(tx: Transaction, accountId: string, applicationId: string): Promise<void> {
  await tx.query('insert into publisher_checks (at, account_id, application_id) values (now(), $1, $2)', [
    accountId,
    applicationId,
  ])
}

export function forgetChecks(db: Queryable): Promise<void> {
  return forget(db, 'publisher_checks', "at < now() - interval '1 day'")
}

export type DueProof = ProvenPublisher & {
  readonly applicationId: string
  readonly accountId: string
  readonly name: string
  readonly domain: string
}

type DueRow = Omit<DueProof, keyof ProvenPublisher> & { provenAt: number; missingSince: number | null }

const PROOF = `id as "applicationId", account_id as "accountId", name, publisher as domain,
  publisher_proven_at as "provenAt", publisher_missing_since as "missingSince"`

/**
 * Takes the application whose DNS record has gone unchecked the longest, at least a day; no other process takes it for
 * a day.
 */
export async function takeDueProof(db: Queryable): Promise<DueProof | null> {
  const { rows } = await db.query<DueRow>(
    `update applications set publisher_checked_at = now() where id = (
       select id from applications
       where publisher_checked_at < now() - interval '1 day' and deleted_at is null
       order by publisher_checked_at limit 1 for no key update skip locked)
     returning ${PROOF}`,
  )
  return rows[0] ?? null
}

/** Null when the record is no longer checked. Includes PostgreSQL's clock. */
export async function findProof(tx: Transaction, id: string): Promise<(DueProof & { readonly now: number }) | null> {
  const { rows } = await tx.query<DueRow & { now: number }>(
    `select ${PROOF}, now() as now from applications
     where id = $1 and publisher_proven_at is not null and deleted_at is null`,
    [id],
  )
  return rows[0] ?? null
}

export async function markProven(tx: Transaction, id: string): Promise<void> {
  await tx.query('update applications set publisher_proven_at = now(), publisher_missing_since = null where id = $1', [
    id,
  ])
}

export async function markMissing(tx: Transaction, id: string): Promise<void> {
  await tx.query('update applications set publisher_missing_since = now() where id = $1', [id])
}
