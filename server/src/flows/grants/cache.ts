/**
 * Grant cache of one process: the state of grants whose credentials are in use, so that checking a credential needs
 * neither PostgreSQL nor Redis.
 *
 * The feed (store/grants/changes.ts) invalidates it: every change to what a credential may do is announced in the
 * transaction that makes it, every process pulls the feed each second (jobs/background.ts) and drops the announced
 * entries. Two safeguards: no entry is used for longer than a minute, and a process that cannot pull the feed uses none
 * at all. docs/decisions/0017-a-hot-credential-asks-no-engine.md.
 */

import type { UseLine } from '../../core/restore/journal-line.ts'
import { type FeedPosition, readGrantChanges } from '../../store/grants/changes.ts'
import { type GrantState, type GrantUse, markUsed, readGrantState } from '../../store/grants/grants.ts'
import { type History, isContinued } from '../../store/postgres/history.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'
import type { Journal } from '../../store/restore/journal.ts'
import { createRemembered, MAX_REMEMBERED } from './remembered.ts'

export type GrantCache = {
  /**
   * Null: no such grant. If `isEnough` returns false, the cached state is older than the presented credential, and the
   * grant is read again.
   */
  find(grantSecret: string, isEnough: (state: GrantState) => boolean): Promise<GrantState | null> | GrantState
  /**
   * Notes that a credential was accepted on this day (UTC, as in 2026-03-01); stored by the next `saveUses`.
   * `generation`: of an access token; 0 for an access key.
   */
  noteUse(state: GrantState, day: string, generation: number): void
  pull(): Promise<void>
  saveUses(): Promise<void>
}

const MAX_ENTRY_AGE_MS = 60_000

const USES_PER_STATEMENT = 1_000

/**
 * Without a successful pull for this long, no entry is used. Longer than a usual failover of PostgreSQL, during which
 * nothing can be revoked anyway.
 */
const STALE_MS = 30_000

export function createGrantCache(db: Postgres, journal: Journal | null = null): GrantCache {
  const remembered = createRemembered()
  /** Reads under way: concurrent misses of a grant share one query. */
  const reading = new Map<string, Promise<GrantState | null>>()
  /** Generations of the noted uses, by grant. */
  const uses = new Map<string, number>()
  let position: FeedPosition | null = null
  let history: History | null = null
  /** Transactions of the last pull. A long-running transaction makes pulls return them again; each is applied once. */
  let applied = new Set<string>()
  let pulls = 0
  let pulledAt = Number.NEGATIVE_INFINITY

  const isStale = () => performance.now() - pulledAt > STALE_MS

  const read = async (grantSecret: string): Promise<GrantState | null> => {
    const [readAt, pullsBefore] = [performance.now(), pulls]
    const state = await readGrantState(db, grantSecret)
    // Do not cache after a concurrent pull: it may have announced a change that this read did not see yet.
    if (state && pulls === pullsBefore && !isStale()) remembered.set(grantSecret, { state: trim(state), readAt })
    return state
  }

  return {
    find: (grantSecret, isEnough) => {
      const known = remembered.get(grantSecret)
      const usable = known && performance.now() - known.readAt < MAX_ENTRY_AGE_MS && !isStale()
      if (usable && isEnough(known.state)) return known.state
      const underWay = reading.get(grantSecret)
      if (underWay && !usable) return underWay
      const work = read(grantSecret).finally(() => {
        if (reading.get(grantSecret) === work) reading.delete(grantSecret)
      })
      reading.set(grantSecret, work)
      return work
    },
    noteUse: ({ grant, usedOn }, day, generation) => {
      // A refresh is not announced in the feed, so the cached generation may be older than that of the token.
      const isFirstOfGeneration = generation > grant.usedGeneration && generation >= grant.generation
      if (usedOn === day && !isFirstOfGeneration) return
      const noted = uses.get(grant.id)
      if (noted === undefined ? uses.size < MAX_REMEMBERED : noted < generation) uses.set(grant.id, generation)
    },
    pull: async () => {
      const startedAt = performance.now()
      const pulled = await readGrantChanges(db, position)
      if (isStale() || (history && !isContinued(history, pulled.history))) remembered.clear()
      for (const change of pulled.changes) if (!applied.has(change.xid)) remembered.forget(change)
      applied = new Set(pulled.changes.map(({ xid }) => xid))
      // Reads under way may be older than this pull: requests already waiting may use them, later ones must not.
      reading.clear()
      position = pulled.position
      history = pulled.history
      pulls += 1
      pulledAt = startedAt
    },
    saveUses: async () => {
      while (uses.size > 0) {
        const batch = [...uses].slice(0, USES_PER_STATEMENT).map(([id, generation]) => ({ id, generation }))
        const stored = await markUsed(db, batch)
        for (const { id, generation } of batch) {
          if (uses.get(id) === generation) uses.delete(id)
          remembered.forget({ grantId: id })
        }
        await journal?.append(stored.filter(({ generation }) => generation > 1).map(useLine))
      }
    },
  }
}

function useLine({ id: grant, generation }: GrantUse): string {
  return JSON.stringify({ kind: 'access_token', grant, generation } satisfies UseLine)
}

/** Drops held scopes that were not granted, to save memory: an administrator holds every scope there is. */
function trim(state: GrantState): GrantState {
  const heldScopes = state.heldScopes.filter((name) => state.grant.scopes.includes(name))
  return { ...state, heldScopes }
}
