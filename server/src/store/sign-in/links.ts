/** The table links: single-use links sent to users, each for one purpose. */

import { PENDING_EMAIL } from '../accounts/address-changes.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

/** `address`: keeps the address to which it was mailed, or gives it up for the pending one. */
export type LinkKind = 'setup' | 'invitation' | 'recovery' | 'sign_in' | 'remove_grant' | 'address'

/** Links that set a password. */
export type PasswordLinkKind = 'setup' | 'invitation' | 'recovery'

export function setsPassword(link: Link): link is Link & { readonly kind: PasswordLinkKind } {
  return link.kind === 'setup' || link.kind === 'invitation' || link.kind === 'recovery'
}

export type NewLink = {
  readonly id: string
  readonly kind: LinkKind
  readonly accountId: string
  readonly userId: string
  readonly grantId: string | null
  readonly lifetimeMs: number
}

export async function insertLink(tx: Transaction, link: NewLink): Promise<void> {
  await tx.query(
    `insert into links (id, kind, account_id, user_id, grant_id, created_at, expires_at, email_version)
     select $1, $2, $3, u.id, $5, now(), now() + $6 * interval '1 millisecond',
       case when $2 in ('invitation', 'recovery', 'sign_in') then u.email_version end
     from users u where u.id = $4`,
    [link.id, link.kind, link.accountId, link.userId, link.grantId, link.lifetimeMs],
  )
}

export type Link = {
  readonly id: string
  readonly kind: LinkKind
  readonly userId: string
  readonly email: string
  /** Null: no change of it is pending. */
  readonly pendingEmail: string | null
  /** May sign in here although the identity provider is required. */
  readonly breakGlass: boolean
  /** Has no means of signing in yet, so that the link may bind the user to the identity provider. */
  readonly linkable: boolean
  readonly grantId: string | null
  readonly applicationId: string | null
  readonly application: string | null
}

/** Valid links only: unused, not expired, user enabled. */
const GOOD_LINK = `select l.id, l.kind, l.user_id as "userId", u.email, ${PENDING_EMAIL} as "pendingEmail", l.grant_id as "grantId", a.id as "applicationId",
    a.name as application,
    exists (select from identity_providers i where i.account_id = u.account_id and u.id = any(i.break_glass))
      as "breakGlass",
    u.origin = 'own' and u.password_digest is null and not exists (select from passkeys p where p.user_id = u.id)
      as linkable
  from links l join users u on u.id = l.user_id
  left join grants g on g.id = l.grant_id left join applications a on a.id = g.application_id
  where l.id = $1 and l.account_id = $2 and l.used_at is null and l.expires_at > now() and u.disabled_at is null`

export async function findLink(db: Queryable, accountId: string, id: string): Promise<Link | null> {
  const { rows } = await db.query<Link>(GOOD_LINK, [id, accountId])
  return rows[0] ?? null
}

export async function lockLink(tx: Transaction, accountId: string, id: string): Promise<Link | null> {
  const { rows } = await tx.query<Link>(`${GOOD_LINK} for update of l`, [id, accountId])
  return rows[0] ?? null
}

/** Invalidates all unused links of a user that set a password or follow one: when it changes, none stays valid. */
export function spendPasswordLinks(tx: Transaction, userId: string): Promise<void> {
  return spendLinks(tx, userId, ['setup', 'invitation', 'recovery', 'sign_in'])
}

export async function spendLinks(tx: Transaction, userId: string, kinds: readonly LinkKind[]): Promise<void> {
  await tx.query('update links set used_at = now() where user_id = $1 and used_at is null and kind = any($2)', [
    userId,
    kinds,
  ])
}

/**
 * Notes that the user of a link has read it in a mail to their address. Nothing if the address was changed since the link was
 * created: it may have been mailed to another one.
 */
export async function confirmEmail(tx: Transaction, linkId: string): Promise<void> {
  await tx.query(
    `update users u set email_confirmed_at = now() from links l
     where l.id = $1 and u.id = l.user_id and u.email_version = l.email_version`,
    [linkId],
  )
}

export async function spendLink(tx: Transaction, id: string): Promise<void> {
  await tx.query('update links set used_at = now() where id = $1', [id])
}

/** Purges links a month after they expired. A link that a mail refers to is purged after the mail. */
export function forgetLinks(db: Queryable): Promise<void> {
  return forget(
    db,
    'links',
    "expires_at < now() - interval '31 days' and not exists (select from mails where mails.link_id = links.id)",
  )
}
