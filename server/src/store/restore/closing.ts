/**
 * Closes what was open before a restore: codes, dialogs, sessions and links, of which any may have been spent in the lost
 * time. In batches, each in a transaction of its own, so that a million of them does not meet a time limit: what was
 * closed stays closed if a later batch fails.
 */
import { allowLongQueries, LONG_QUERY, type Postgres, type Transaction } from '../postgres/postgres.ts'

export type ClosedCounts = { readonly codes: number; readonly dialogs: number; readonly sessions: number }

const BATCH = 20_000

export async function closeOpen(db: Postgres): Promise<ClosedCounts> {
  const codes = await inBatches(db, closeCodes)
  const undecided = await inBatches(db, deleteUndecided)
  const unexchanged = await inBatches(db, closeUnexchanged)
  await inBatches(db, closeLinks)
  return { codes, dialogs: undecided + unexchanged, sessions: await inBatches(db, deleteSessions) }
}

/** Until a batch is not full: what processes that run add meanwhile is not of before. */
async function inBatches(db: Postgres, close: (tx: Transaction) => Promise<number>): Promise<number> {
  for (let total = 0; ; ) {
    const closed = await db.transaction(async (tx) => {
      await allowLongQueries(tx)
      return close(tx)
    })
    total += closed
    if (closed < BATCH) return total
  }
}

/**
 * An accepted code becomes used, with its grant: the device may hold the credentials, so the grant stays, and no sweep
 * revokes it as never collected.
 */
async function closeCodes(tx: Transaction): Promise<number> {
  const { rows } = await tx.query<{ grant_id: string | null }>({
    ...LONG_QUERY,
    text: `update device_codes set status = 'used', used_at = now(), entry_closed = true,
        outcome = coalesce(outcome, case status when 'pending' then 'expired' else status end),
        lease_id = coalesce(lease_id, gen_random_uuid()), leased_until = coalesce(leased_until, now())
      where (id, expires_at) in (select id, expires_at from device_codes
        where status in ('accepted', 'rejected') or (status = 'pending' and expires_at > now()) limit ${BATCH} for update)
      returning grant_id`,
  })
  await markIssued(tx, rows)
  return rows.length
}

function deleteUndecided(tx: Transaction): Promise<number> {
  return change(tx, `delete from dialogs where id in (select id from dialogs where decided_at is null limit ${BATCH})`)
}

async function closeUnexchanged(tx: Transaction): Promise<number> {
  const { rows } = await tx.query<{ grant_id: string }>({
    ...LONG_QUERY,
    text: `update dialogs set used_at = now() where id in (
        select id from dialogs where grant_id is not null and used_at is null limit ${BATCH} for update)
      returning grant_id`,
  })
  await markIssued(tx, rows)
  return rows.length
}

/** Invitations stay: whoever holds one has no other way in. */
function closeLinks(tx: Transaction): Promise<number> {
  return change(
    tx,
    `update links set used_at = now() where id in (
       select id from links where kind in ('recovery', 'sign_in', 'address') and used_at is null limit ${BATCH} for update)`,
  )
}

function deleteSessions(tx: Transaction): Promise<number> {
  return change(tx, `delete from sessions where id in (select id from sessions limit ${BATCH})`)
}

async function change(tx: Transaction, text: string): Promise<number> {
  return (await tx.query({ ...LONG_QUERY, text })).rowCount ?? 0
}

/** As if collected now: refresh tokens that a device holds stay valid. */
async function markIssued(tx: Transaction, closed: readonly { readonly grant_id: string | null }[]): Promise<void> {
  await tx.query({
    ...LONG_QUERY,
    text: `with chosen as (select id from grants where id = any($1) and issued_at is null order by id for no key update)
      update grants g set issued_at = now() from chosen where g.id = chosen.id`,
    values: [closed.flatMap(({ grant_id }) => grant_id ?? [])],
  })
}
