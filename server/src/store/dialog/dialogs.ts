/** The table dialogs: one row per authorization request in a browser, kept for a day after it expires. */
import { DIALOG_KEPT_MS, type Dialog } from '../../core/dialog/dialog.ts'
import { recordAll } from '../audit/events.ts'
import { announceGrants } from '../grants/changes.ts'
import { chooseGrants } from '../grants/grants.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

type Row = {
  id: string
  application_id: string
  redirect_uri: string
  scopes: string[]
  state: string | null
  code_challenge: string | null
  expires_at: number
  decided_at: number | null
  user_id: string | null
  grant_id: string | null
  lease_id: string | null
  leased_until: number | null
  idempotency_key: string | null
  used_at: number | null
  now: number
}

const DIALOG = `select id, application_id, redirect_uri, scopes, state, code_challenge, expires_at, decided_at, user_id,
    grant_id, lease_id, leased_until, idempotency_key, used_at, now() as now
  from dialogs where id = $1`

export type FoundDialog = { readonly dialog: Dialog; readonly now: number }

export type NewDialog = Pick<Dialog, 'id' | 'applicationId' | 'redirectUri' | 'scopes' | 'state' | 'codeChallenge'> & {
  readonly lifetimeMs: number
}

export async function insertDialog(db: Queryable, dialog: NewDialog): Promise<void> {
  await db.query(
    `insert into dialogs (id, created_at, expires_at, application_id, redirect_uri, scopes, state, code_challenge)
     values ($1, now(), now() + $2 * interval '1 millisecond', $3, $4, $5, $6, $7)`,
    [
      dialog.id,
      dialog.lifetimeMs,
      dialog.applicationId,
      dialog.redirectUri,
      dialog.scopes,
      dialog.state,
      dialog.codeChallenge,
    ],
  )
}

export async function readDialog(db: Queryable, id: string): Promise<FoundDialog | null> {
  const { rows } = await db.query<Row>(DIALOG, [id])
  return rows[0] ? fromRow(rows[0]) : null
}

/**
 * Binds an undecided dialog to the browser that opens it, named by a digest. False when another browser has opened it,
 * or when it was decided.
 */
export async function openInBrowser(db: Queryable, id: string, browser: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `update dialogs set opened_in = $2
     where id = $1 and decided_at is null and (opened_in is null or opened_in = $2)`,
    [id, browser],
  )
  return rowCount === 1
}

export async function lockDialog(tx: Transaction, id: string): Promise<FoundDialog | null> {
  const { rows } = await tx.query<Row>(`${DIALOG} for update`, [id])
  return rows[0] ? fromRow(rows[0]) : null
}

/** Saves every column that a step of core/dialog/dialog.ts can change. */
export async function saveDialog(tx: Transaction, dialog: Dialog): Promise<void> {
  await tx.query(
    `update dialogs set user_id = $2, grant_id = $3, decided_at = $4, lease_id = $5, leased_until = $6,
       used_at = $7, idempotency_key = $8
     where id = $1`,
    [
      dialog.id,
      dialog.userId,
      dialog.grantId,
      dialog.decidedAt === null ? null : new Date(dialog.decidedAt),
      dialog.delivery?.leaseId ?? null,
      dialog.delivery ? new Date(dialog.delivery.until) : null,
      dialog.usedAt === null ? null : new Date(dialog.usedAt),
      dialog.delivery?.idempotencyKey ?? null,
    ],
  )
}

/**
 * Revokes grants whose authorization code was not exchanged in time. A dialog with a lease is skipped: a process may
 * have died after sending the response, so its grant stays. Dialogs are locked first, as in an exchange, so that an
 * exchange in progress is not overtaken. Returns the number of revoked grants.
 */
export async function revokeUnexchanged(tx: Transaction, codeLifetimeMs: number): Promise<number> {
  const { rows } = await tx.query<{ grant_id: string }>(
    `with late as (
       select grant_id from dialogs
       where grant_id is not null and used_at is null and lease_id is null
         and decided_at < now() - $1 * interval '1 millisecond'
       for update skip locked),
     ${chooseGrants('revoked_at is null and id in (select grant_id from late)')},
     voided as (
       update grants g set revoked_at = now(), revocation_reason = 'never_collected' from chosen where g.id = chosen.id
       returning g.id, g.account_id, g.user_id, g.application_id),
     ${recordAll(`select now(), 'grant.revoked', 'service', 'expiry', 'job', account_id, user_id, application_id, id, null::uuid,
       '{"reason":"never_collected"}'::jsonb from voided`)}
     select grant_id from recorded`,
    [codeLifetimeMs],
  )
  await announceGrants(
    tx,
    rows.map((row) => row.grant_id),
  )
  return rows.length
}

/** Purges undecided dialogs once they expire, decided ones after DIALOG_KEPT_MS. The grant of a dialog is kept. */
export function forgetDialogs(db: Queryable): Promise<void> {
  const kept = `expires_at < now() - interval '${DIALOG_KEPT_MS} milliseconds'`
  return forget(db, 'dialogs', `expires_at < now() and (decided_at is null or ${kept})`)
}

function fromRow(row: Row): FoundDialog {
  const { lease_id: leaseId, leased_until: until, idempotency_key: idempotencyKey } = row
  return {
    now: row.now,
    dialog: {
      id: row.id,
      applicationId: row.application_id,
      redirectUri: row.redirect_uri,
      scopes: row.scopes,
      state: row.state,
      codeChallenge: row.code_challenge,
      expiresAt: row.expires_at,
      decidedAt: row.decided_at,
      userId: row.user_id,
      grantId: row.grant_id,
      delivery: leaseId !== null && until !== null ? { leaseId, until, idempotencyKey } : null,
      usedAt: row.used_at,
    },
  }
}
