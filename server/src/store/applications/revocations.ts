/** The table application_revocations: what the home cell does to all grants of an application, for the other cells. */
import type { Actor } from '../../core/audit/actor.ts'
import type { RevocationReason } from '../../core/grants/revocation-reason.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type ApplicationRevocation = {
  readonly applicationId: string
  readonly actor: Actor
} & (
  | { readonly reason: RevocationReason; readonly decisionId: string | null }
  /** Restores the grants that the decision revoked. */
  | { readonly reason: null; readonly decisionId: string }
)

/** Call after `markApplicationChanged`, whose lock orders them. Nothing is stored in an undivided installation. */
export async function insertRevocation(tx: Transaction, revocation: ApplicationRevocation): Promise<void> {
  const { applicationId, reason, decisionId, actor } = revocation
  await tx.query(
    `insert into application_revocations (id, application_id, reason, decision, actor_kind, actor_id, actor_via)
     select greatest((extract(epoch from clock_timestamp()) * 1000000)::bigint, last.id + 1), $1, $2, $3, $4, $5, $6
     from cell_map, (select coalesce(max(id), 0) as id from application_revocations) last`,
    [applicationId, reason, decisionId, actor.kind, actor.id, actor.via],
  )
}

type Row = {
  id: string
  applied: string
  application_id: string
  reason: RevocationReason | null
  decision: string | null
  actor_kind: Actor['kind']
  actor_id: string
  actor_via: Actor['via']
}

export type NextRevocation = {
  readonly id: string
  /** The last one before it that was applied here. */
  readonly applied: string
  readonly revocation: ApplicationRevocation
}

/** Null: all are applied. */
export async function readNextRevocation(db: Queryable): Promise<NextRevocation | null> {
  const { rows } = await db.query<Row>({
    name: 'read-next-revocation',
    text: `select r.id::text as id, t.revocations_applied::text as applied, r.application_id, r.reason, r.decision, r.actor_kind,
        r.actor_id, r.actor_via
      from this_cell t join application_revocations r on r.id > t.revocations_applied order by r.id limit 1`,
  })
  const [row] = rows
  return row ? { id: row.id, applied: row.applied, revocation: revocationFrom(row) } : null
}

function revocationFrom(row: Row): ApplicationRevocation {
  const { application_id: applicationId, reason, decision: decisionId } = row
  const actor = { kind: row.actor_kind, id: row.actor_id, via: row.actor_via }
  if (reason !== null) return { applicationId, actor, reason, decisionId }
  if (decisionId === null) throw new Error('a restoration of grants has no decision')
  return { applicationId, actor, reason, decisionId }
}

/** The last one that the home cell stored; 0: none. */
export async function readLastRevocation(home: Queryable): Promise<bigint> {
  const { rows } = await home.query<{ id: string }>(
    'select coalesce(max(id), 0)::text as id from application_revocations',
  )
  return BigInt(rows[0]?.id ?? 0)
}

/** The last one that was applied in this cell. The home cell needs none. */
export async function readAppliedRevocation(db: Queryable): Promise<bigint> {
  const { rows } = await db.query<{ id: string }>('select revocations_applied::text as id from this_cell')
  return BigInt(rows[0]?.id ?? 0)
}

/** False: another process has applied it since it was read. */
export async function markApplied(tx: Transaction, { id, applied }: NextRevocation): Promise<boolean> {
  const { rowCount } = await tx.query('update this_cell set revocations_applied = $1 where revocations_applied = $2', [
    id,
    applied,
  ])
  return rowCount === 1
}
