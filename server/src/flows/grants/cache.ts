/**
 * What this process knows about the grants whose credentials are in use, so that checking one asks no engine.
 *
 * It is right because of the feed (store/grants/changes.ts): whatever changes what a credential may do is announced in the
 * transaction that changes it, every process pulls the feed each second (jobs/background.ts), and what was announced is read
 * anew. Two walls behind it: nothing is believed for longer than a minute, and a process that cannot hear the feed believes
 * nothing at all. docs/decisions/0017-a-hot-credential-asks-no-engine.md.
 */

import { type FeedPosition, readGrantChanges } from '../../store/grants/changes.ts'
import { type GrantState, markUsed, readGrantState } from '../../store/grants/grants.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'
import { createRemembered, MAX_REMEMBERED } from './remembered.ts'

export type GrantCache = {
  /** Null: there is no such grant. `isEnough` false: what is remembered is older than what was presented, so look again. */
  find(grantSecret: string, isEnough: (state: GrantState) => boolean): Promise<GrantState | null> | GrantState
  /** A credential of it was used on this day (UTC, 2026-03-01). Written down with the next `saveUses`. */
  noteUse(state: GrantState, day: string): void
  pull(): Promise<void>
  saveUses(): Promise<void>
}

const BELIEVED_MS = 60_000

const USES_PER_STATEMENT = 1_000

/** Longer than a usual change of PostgreSQL's primary, during which nothing can be revoked anyway. */
const STALE_MS = 30_000

export function createGrantCache(db: Postgres): GrantCache {
  const remembered = createRemembered()
  /** Many requests that miss at once read once. */
  const reading = new Map<string, Promise<GrantState | null>>()
  const usedOn = new Map<string, string>()
  let position: FeedPosition | null = null
  /** Transactions of the last pull: a long one in between makes them come again, and once is enough. */
  let applied = new Set<string>()
  let pulls = 0
  let heardAt = Number.NEGATIVE_INFINITY

  const isStale = () => performance.now() - heardAt > STALE_MS

  const read = async (grantSecret: string): Promise<GrantState | null> => {
    const [readAt, pullsBefore] = [performance.now(), pulls]
    const state = await readGrantState(db, grantSecret)
    // A pull that came in between may have told of a change that this reading did not see yet.
    if (state && pulls === pullsBefore && !isStale()) remembered.set(grantSecret, { state: trim(state), readAt })
    return state
  }

  return {
    find: (grantSecret, isEnough) => {
      const known = remembered.get(grantSecret)
      const believed = known && performance.now() - known.readAt < BELIEVED_MS && !isStale()
      if (believed && isEnough(known.state)) return known.state
      const underWay = reading.get(grantSecret)
      if (underWay && !believed) return underWay
      const work = read(grantSecret).finally(() => {
        if (reading.get(grantSecret) === work) reading.delete(grantSecret)
      })
      reading.set(grantSecret, work)
      return work
    },
    noteUse: ({ grant, usedOn: noted }, day) => {
      if (noted !== day && usedOn.size < MAX_REMEMBERED) usedOn.set(grant.id, day)
    },
    pull: async () => {
      const startedAt = performance.now()
      const pulled = await readGrantChanges(db, position)
      // A position that goes back is another PostgreSQL, which was promoted with less than the old one knew.
      if (isStale() || isBehind(pulled.position, position)) remembered.clear()
      for (const change of pulled.changes) if (!applied.has(change.xid)) remembered.forget(change)
      applied = new Set(pulled.changes.map(({ xid }) => xid))
      // What is being read may be older than what was just heard: good enough for those who wait, not for those who come.
      reading.clear()
      position = pulled.position
      pulls += 1
      heardAt = startedAt
    },
    saveUses: async () => {
      while (usedOn.size > 0) {
        const ids = [...usedOn.keys()].slice(0, USES_PER_STATEMENT)
        await markUsed(db, ids)
        for (const id of ids) {
          usedOn.delete(id)
          remembered.forget({ grantId: id })
        }
      }
    },
  }
}

/** An administrator holds every scope there is; of interest are those that were granted. */
function trim(state: GrantState): GrantState {
  const heldScopes = state.heldScopes.filter((name) => state.grant.scopes.includes(name))
  return { ...state, heldScopes }
}

function isBehind(position: FeedPosition, before: FeedPosition | null): boolean {
  return before !== null && BigInt(position) < BigInt(before)
}
