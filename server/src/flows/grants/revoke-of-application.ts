/**
 * Revocation of all grants of an application. In a divided installation it is decided in the home cell, and every cell
 * revokes its own grants: the home cell at once, the others when the revocation has been replicated
 * (docs/decisions/0060-cells-on-plain-postgresql.md).
 */
import type { Actor } from '../../core/audit/actor.ts'
import type { RevocationReason } from '../../core/grants/revocation-reason.ts'
import {
  type ApplicationRevocation,
  insertRevocation,
  markApplied,
  readNextRevocation,
} from '../../store/applications/revocations.ts'
import { isArriving } from '../../store/cells/moves.ts'
import { restoreGrants, revokeGrants } from '../../store/grants/grants.ts'
import { type Postgres, type Transaction, Unavailable } from '../../store/postgres/postgres.ts'

/**
 * Call after `markApplicationChanged`. `decisionId`: revoked until that decision is undone. Returns how many grants of
 * this cell it revoked.
 */
export async function revokeGrantsOfApplication(
  tx: Transaction,
  actor: Actor,
  applicationId: string,
  reason: RevocationReason,
  decisionId: string | null = null,
): Promise<number> {
  const revocation = { applicationId, actor, reason, decisionId }
  await insertRevocation(tx, revocation)
  return apply(tx, revocation)
}

/** Restores what the decision revoked, and was not revoked for another reason since. Returns how many of this cell. */
export async function restoreGrantsOfApplication(
  tx: Transaction,
  actor: Actor,
  applicationId: string,
  decisionId: string,
): Promise<number> {
  const revocation = { applicationId, actor, reason: null, decisionId }
  await insertRevocation(tx, revocation)
  return apply(tx, revocation)
}

/** In every cell but the home cell: what the home cell has revoked or restored, in its order. */
export async function applyRevocations(db: Postgres): Promise<void> {
  while (await applyNext(db));
}

/** Another process applied the revocation first. Rolls this one back: it may have revoked grants that are newer. */
class AppliedBefore extends Error {}

async function applyNext(db: Postgres): Promise<boolean> {
  const next = await readNextRevocation(db)
  if (!next) return false
  try {
    await db.transaction(async (tx) => {
      await apply(tx, next.revocation)
      if (!(await markApplied(tx, next))) throw new AppliedBefore()
    })
  } catch (error) {
    if (!(error instanceof AppliedBefore)) throw error
  }
  return true
}

/** Throws Unavailable while a bucket is arriving from another cell, which does not revoke its grants any more. */
async function apply(tx: Transaction, revocation: ApplicationRevocation): Promise<number> {
  if (await isArriving(tx)) throw new Unavailable('a bucket is arriving from another cell')
  const { applicationId, actor, reason, decisionId } = revocation
  if (reason === null) return restoreGrants(tx, actor, applicationId, decisionId)
  return revokeGrants(tx, actor, decisionId === null ? { applicationId } : { applicationId, decisionId }, reason)
}
