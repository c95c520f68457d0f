/**
 * Sealing of the audit log: chains recorded events shortly after they were committed, so that recording never waits.
 * docs/decisions/0021-the-audit-log-is-sealed-after-the-fact.md
 */
import { NO_SEAL, sealEntry } from '../../secrets/audit-seal.ts'
import { equalSecrets } from '../../secrets/mac.ts'
import { isDetached } from '../../store/audit/detachments.ts'
import {
  type AuditSeal,
  insertSeals,
  lockSealing,
  readLastSeal,
  readSeal,
  readSealable,
} from '../../store/audit/seals.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'

/** Events per transaction: a few milliseconds of hashing, so that requests in this process are hardly delayed. */
const BATCH = 500

/** Batches per run; the rest of a backlog is left to the next run. */
const MAX_BATCHES = 20

/** The newest seal. A copy kept elsewhere proves later whether the log was truncated or rewritten. */
export type AuditHead = Pick<AuditSeal, 'position' | 'hash'>

type Sealing = Pick<Context, 'db' | 'config'>

/** Returns how many events it sealed; 0 if there are none or another process is sealing. */
export function sealBatch({ db, config }: Sealing, max = BATCH): Promise<number> {
  return db.transaction(async (tx) => {
    if (!(await lockSealing(tx))) return 0
    const last = await readLastSeal(tx)
    const key = config.keys.signing
    const seals: AuditSeal[] = []
    let { position, hash } = last ?? { position: 0, hash: NO_SEAL }
    for (const entry of await readSealable(tx, last, max)) {
      position += 1
      hash = sealEntry(key, { previous: hash, position }, entry)
      seals.push({ position, eventId: entry.id, eventAt: entry.at, xid: entry.xid, keyId: key.id, hash })
    }
    if (seals.length > 0) await insertSeals(tx, seals)
    return seals.length
  })
}

export async function readHead({ db }: { readonly db: Queryable }): Promise<AuditHead | null> {
  const last = await readLastSeal(db)
  return last && { position: last.position, hash: last.hash }
}

export type Sealer = {
  run(): Promise<void>
  /** Writes the head to the operator's log, which is stored elsewhere. */
  logHead(): void
}

export function createSealer(context: Sealing & Pick<Context, 'events'>): Sealer {
  /** The last head this process saw. It must stay in the chain. */
  let seen: AuditHead | null = null
  return {
    run: async () => {
      if (seen && !(await isInChain(context, seen))) context.events.auditDiffers(seen.position)
      for (let batch = 1; batch <= MAX_BATCHES; batch += 1) {
        if ((await sealBatch(context)) < BATCH) break
      }
      seen = await readHead(context)
    },
    logHead: () => {
      if (seen) context.events.auditHead(seen.position, seen.hash.toString('hex'))
    },
  }
}

/** True also if its month was detached. */
async function isInChain({ db }: Pick<Context, 'db'>, head: AuditHead): Promise<boolean> {
  const there = await readSeal(db, head.position)
  return there ? equalSecrets(there.hash, head.hash) : isDetached(db, head.position)
}
