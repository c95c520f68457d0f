/** Hand-over of rows of device_codes between cells: where a code is, and copies of its row. */
import type { Place } from '../../core/cells/hand-over.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { COLUMNS, type DeviceCodeKey, type Found, foundFrom, type Row } from './codes.ts'

/** The live code with these digits, also if another cell has it. */
export async function lockIssuedCode(tx: Transaction, digests: readonly Buffer[]): Promise<Found | null> {
  const { rows } = await tx.query<Row>(
    `select ${COLUMNS}, now() as now from device_codes
     where user_code_digest = any($1::bytea[]) and status = 'pending' and expires_at > now() for update`,
    [digests],
  )
  return rows[0] ? foundFrom(rows[0]) : null
}

export async function savePlace(tx: Transaction, key: DeviceCodeKey, { handedTo, handovers }: Place): Promise<void> {
  await tx.query('update device_codes set handed_to = $3, handovers = $4 where id = $1 and expires_at = $2', [
    key.id,
    new Date(key.expiresAt),
    handedTo,
    handovers,
  ])
}

/** Everything about a code that nobody has claimed, as cells send it to each other: the row in PostgreSQL's JSON. */
export type CodeRow = Readonly<Record<string, unknown>> & { readonly id: string; readonly expires_at: string }

export async function readCodeRow(db: Queryable, key: DeviceCodeKey): Promise<CodeRow | null> {
  const { rows } = await db.query<{ row: CodeRow }>(
    'select to_jsonb(c) as row from device_codes c where id = $1 and expires_at = $2',
    [key.id, new Date(key.expiresAt)],
  )
  return rows[0]?.row ?? null
}

/**
 * Inserts the copy of a row, or updates where its code is, if the copy is newer. Nothing if the code moved on with the
 * account of the user who claimed it: the issuer does not know that.
 */
export async function receiveCodeRow(tx: Transaction, row: CodeRow, issuedBy: number, place: Place): Promise<void> {
  await tx.query(
    `insert into device_codes as known (id, expires_at, created_at, application_id, variant, status, key_id,
       user_code_digits, user_code_digest, scopes, state, requested_from, requested_with, issued_by, handed_to, handovers)
     select r.id, r.expires_at, r.created_at, r.application_id, r.variant, 'pending', r.key_id, r.user_code_digits,
       r.user_code_digest, r.scopes, r.state, r.requested_from, r.requested_with, $2, $3, $4
     from jsonb_populate_record(null::device_codes, $1) r
     on conflict (id, expires_at) do update set handed_to = excluded.handed_to, handovers = excluded.handovers
       where known.handovers < excluded.handovers
         and (known.handed_to is null or known.handed_to = excluded.issued_by)`,
    [JSON.stringify(row), issuedBy, place.handedTo, place.handovers],
  )
}
