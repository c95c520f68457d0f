/** The table mails, an outbox: written in the transaction that causes a mail, sent by flows/send-mails.ts. */
import type { MailContent } from '../core/mail.ts'
import { PENDING_EMAIL } from './accounts/address-changes.ts'
import { lockByName } from './postgres/advisory-locks.ts'
import type { Queryable, Transaction } from './postgres/postgres.ts'
import { forget } from './postgres/purge.ts'

export type NewMail = MailContent & {
  readonly accountId: string
  readonly userId: string
  readonly linkId: string | null
  readonly language: string
  /** Delay before it is sent; absent: none. */
  readonly afterMs?: number
}

export function insertMail(tx: Transaction, mail: NewMail): Promise<void> {
  return insertMails(tx, [mail])
}

/** In one statement: an account may have hundreds of administrators, and others wait for locks of the transaction. */
export async function insertMails(tx: Transaction, mails: readonly NewMail[]): Promise<void> {
  const each = <T>(value: (mail: NewMail) => T) => mails.map(value)
  await tx.query(
    `insert into mails (kind, account_id, user_id, link_id, language, detail, created_at, due_at)
     select kind, account_id, user_id, link_id, language, detail, now(), now() + after_ms * interval '1 millisecond'
     from unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::jsonb[], $7::float8[])
       as mail(kind, account_id, user_id, link_id, language, detail, after_ms)`,
    [
      each(({ kind }) => kind),
      each(({ accountId }) => accountId),
      each(({ userId }) => userId),
      each(({ linkId }) => linkId),
      each(({ language }) => language),
      each(({ detail }) => JSON.stringify(detail)),
      each(({ afterMs = 0 }) => afterMs),
    ],
  )
}

/** Application names listed in a mail; further ones are only counted. */
const MAX_LISTED = 20

/** Adds an application to a waiting mail that has not been attempted yet. False when there is none. */
export async function addToWaitingMail(tx: Transaction, userId: string, application: string): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'add-to-waiting-mail',
    text: `update mails set detail = jsonb_build_object(
       'count', (detail->>'count')::int + 1,
       'applications', case when jsonb_array_length(detail->'applications') < $3
         then detail->'applications' || to_jsonb($2::text) else detail->'applications' end)
     where user_id = $1 and kind = 'grants_created' and attempts = 0 and sent_at is null and given_up_at is null`,
    values: [userId, application, MAX_LISTED],
  })
  return rowCount === 1
}

export type DueMail = NewMail & {
  readonly id: number
  readonly attempts: number
  readonly email: string
  readonly slug: string
  readonly createdAt: number
  /** The link in it was used or has expired, or the user whom its detail names was erased. */
  readonly obsolete: boolean
  /** A new address of the recipient that is not confirmed; null: none. */
  readonly pendingEmail: string | null
  /** Address of the user whom the detail names; null: none. */
  readonly about: string | null
}

/**
 * Leases the mail that has been due longest: it becomes due again later, in case this process dies before it marks the
 * mail as sent. The delay doubles with every attempt, up to an hour. Null when none is due.
 */
export async function takeDueMail(db: Queryable): Promise<DueMail | null> {
  const { rows } = await db.query<DueMail>(
    `with taken as (
       update mails set attempts = attempts + 1,
         due_at = now() + least(interval '1 hour', interval '30 seconds' * power(2, least(attempts, 10)))
       where id = (
         select id from mails where due_at <= now() and sent_at is null and given_up_at is null
         order by due_at limit 1 for update skip locked)
       returning *)
     select t.id, t.kind, t.account_id as "accountId", t.user_id as "userId", t.link_id as "linkId", t.language, t.detail,
       t.attempts, t.created_at as "createdAt", u.email, a.slug,
       coalesce(l.used_at is not null or l.expires_at <= now(), false) or (t.detail ? 'user' and o.id is null) as obsolete,
       ${PENDING_EMAIL} as "pendingEmail", o.email as about
     from taken t join users u on u.id = t.user_id join accounts a on a.id = t.account_id
       left join links l on l.id = t.link_id left join users o on o.id = t.detail->>'user'`,
  )
  return rows[0] ?? null
}

export async function markMailSent(db: Queryable, id: number): Promise<void> {
  await db.query('update mails set sent_at = now() where id = $1', [id])
}

export async function giveUpMail(db: Queryable, id: number): Promise<void> {
  await db.query('update mails set given_up_at = now() where id = $1', [id])
}

/** Purges mails after 30 days: an unsent one is obsolete by then, a sent one is kept that long for reference. */
export function forgetMails(db: Queryable): Promise<void> {
  return forget(db, 'mails', "created_at < now() - interval '30 days'")
}

/**
 * Counts the mails of the last hours to a user, so that repeated requests cannot flood a mailbox. Holds a lock until the
 * transaction ends, so that concurrent requests do not all see room for one more.
 */
export async function lockRecentMails(
  tx: Transaction,
  userId: string,
  kinds: readonly MailContent['kind'][],
  hours = 1,
): Promise<number> {
  await lockByName(tx, `mails:${userId}`)
  const { rows } = await tx.query<{ mails: number }>({
    name: 'count-recent-mails',
    text: `select count(*) as mails from mails
     where user_id = $1 and kind = any($2) and created_at > now() - $3 * interval '1 hour'`,
    values: [userId, kinds, hours],
  })
  return rows[0]?.mails ?? 0
}

/** When the newest mail of this kind to the user was written; null: none, or purged. */
export async function findLastMail(db: Queryable, userId: string, kind: MailContent['kind']): Promise<number | null> {
  const { rows } = await db.query<{ at: number | null }>(
    'select max(created_at) as at from mails where user_id = $1 and kind = $2',
    [userId, kind],
  )
  return rows[0]?.at ?? null
}

/**
 * After how long the next mail of this kind may be sent to users of the account, so that it is at most one in an hour.
 * Null: one is waiting already, and says as much.
 */
export async function untilNextMail(
  tx: Transaction,
  accountId: string,
  kind: MailContent['kind'],
): Promise<number | null> {
  const { rows } = await tx.query<{ waiting: boolean; recent: boolean }>(
    `select count(*) filter (where sent_at is null and given_up_at is null and due_at > now()) > 0 as waiting,
       count(*) > 0 as recent
     from mails where account_id = $1 and kind = $2 and due_at > now() - interval '1 hour'`,
    [accountId, kind],
  )
  if (rows[0]?.waiting) return null
  return rows[0]?.recent ? HOUR_MS : 0
}

const HOUR_MS = 60 * 60 * 1000

/** Mails of one account within the last hour. Call under `lockAccount`. */
export async function countRecentMails(tx: Transaction, accountId: string, kind: MailContent['kind']): Promise<number> {
  const { rows } = await tx.query<{ mails: number }>(
    `select count(*) as mails from mails
     where account_id = $1 and kind = $2 and created_at > now() - interval '1 hour'`,
    [accountId, kind],
  )
  return rows[0]?.mails ?? 0
}
