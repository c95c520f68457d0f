/** Hand-over of rows of dialogs between cells. */
import type { Queryable } from '../postgres/postgres.ts'

/** An undecided dialog, as cells send it to each other: the row in PostgreSQL's JSON. */
export type DialogRow = Readonly<Record<string, unknown>> & { readonly id: string }

/** From now on the dialog cannot be decided here. Null: it is unknown, decided, or handed to another cell. */
export async function markHanded(db: Queryable, id: string, cell: number): Promise<DialogRow | null> {
  const { rows } = await db.query<{ row: DialogRow }>(
    `update dialogs d set handed_to = $2 where id = $1 and decided_at is null and coalesce(handed_to, $2) = $2
     returning to_jsonb(d) as row`,
    [id, cell],
  )
  return rows[0]?.row ?? null
}

/** Nothing if it is known already: it may have been decided since. */
export async function receiveDialogRow(db: Queryable, row: DialogRow): Promise<void> {
  await db.query(
    `insert into dialogs (id, created_at, expires_at, application_id, redirect_uri, scopes, state, code_challenge, opened_in)
     select r.id, r.created_at, r.expires_at, r.application_id, r.redirect_uri, r.scopes, r.state, r.code_challenge, r.opened_in
     from jsonb_populate_record(null::dialogs, $1) r on conflict (id) do nothing`,
    [JSON.stringify(row)],
  )
}
