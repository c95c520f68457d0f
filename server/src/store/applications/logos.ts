/** Logos in the table applications: read one by one, because every process caches the other columns of every row. */
import type { Queryable, Transaction } from '../postgres/postgres.ts'

/** A new random version with each logo: a cached image under a version is never another image. */
export const NEW_LOGO_VERSION = 'left(md5(gen_random_uuid()::text), 12)'

/** Null removes the logo. Call under `markApplicationChanged`. */
export async function setLogo(tx: Transaction, id: string, logo: Buffer | null): Promise<void> {
  await tx.query(
    `update applications set logo = $2, logo_version = case when $2::bytea is not null then ${NEW_LOGO_VERSION} end
     where id = $1`,
    [id, logo],
  )
}

export type StoredLogo = {
  readonly bytes: Buffer
  readonly version: string
  /** The publisher is `own` or `verified`, so the logo is public. */
  readonly vouched: boolean
  readonly accountId: string
}

export async function readLogo(db: Queryable, id: string): Promise<StoredLogo | null> {
  const { rows } = await db.query<StoredLogo>(
    `select logo as bytes, logo_version as version, publisher_status <> 'unverified' as vouched,
       account_id as "accountId"
     from applications where id = $1 and logo is not null and deleted_at is null`,
    [id],
  )
  return rows[0] ?? null
}
