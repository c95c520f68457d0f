/** Closes what was open before a restore: codes, dialogs, sessions and links, of which any may have been spent in the lost time. */
import type { Transaction } from '../postgres/postgres.ts'

export type ClosedCounts = { readonly codes: number; readonly dialogs: number; readonly sessions: number }

/**
 * An accepted code becomes used, with its grant: the device may hold the credentials, so the grant stays, and no sweep
 * revokes it as never collected. Returns the ids of those grants.
 */
export async function closeCodes(tx: Transaction): Promise<{ codes: number; dialogs: number; grantIds: string[] }> {
  await tx.allowSeconds(60)
  const codes = await tx.query<{ grant_id: string | null }>({
    query_timeout: 61_000,
    text: `update device_codes set status = 'used', used_at = now(), entry_closed = true,
        outcome = coalesce(outcome, case status when 'pending' then 'expired' else status end),
        lease_id = coalesce(lease_id, gen_random_uuid()), leased_until = coalesce(leased_until, now())
      where status in ('accepted', 'rejected') or (status = 'pending' and expires_at > now())
      returning grant_id`,
  })
  const undecided = await tx.query('delete from dialogs where decided_at is null')
  const unexchanged = await tx.query<{ grant_id: string }>(
    'update dialogs set used_at = now() where grant_id is not null and used_at is null returning grant_id',
  )
  return {
    codes: codes.rows.length,
    dialogs: (undecided.rowCount ?? 0) + unexchanged.rows.length,
    grantIds: [...codes.rows, ...unexchanged.rows].flatMap(({ grant_id }) => grant_id ?? []),
  }
}

/** Invitations stay: whoever holds one has no other way in. */
export async function closeSessions(tx: Transaction): Promise<number> {
  await tx.query("update links set used_at = now() where kind in ('recovery', 'sign_in') and used_at is null")
  const { rowCount } = await tx.query({ text: 'delete from sessions', query_timeout: 61_000 })
  return rowCount ?? 0
}

/** As if collected now: refresh tokens that a device holds stay valid. */
export async function markIssued(tx: Transaction, grantIds: readonly string[]): Promise<void> {
  await tx.query(
    `with chosen as (select id from grants where id = any($1) and issued_at is null order by id for no key update)
     update grants g set issued_at = now() from chosen where g.id = chosen.id`,
    [grantIds],
  )
}
