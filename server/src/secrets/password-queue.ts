/**
 * Queue for password hashing: one hash at a time per process, so that a flood of sign-ins costs one core and polls keep
 * the others. Known browsers come first, round-robin over accounts: the owner of an account can have any number of
 * them. Strangers follow, one at a time: first those who wait for the response, round-robin over networks, then those
 * whose response was sent already and whose sign-in a mailed link completes.
 */
import { createFairQueue } from '../core/fair-queue.ts'
import type { Source } from '../core/network.ts'
import { createRankedQueue } from '../core/ranked-queue.ts'

/** Too many passwords are being checked: an honest user retries, a flood is stopped. */
export class PasswordsBusy extends Error {
  override readonly name = 'PasswordsBusy'
}

/** Source of an attempt from a browser that never signed in as this user. */
export type Stranger = Source & {
  /**
   * Null: the response waits for the check. Otherwise the response was sent already, and this is the rank in the queue,
   * lowest first: the number of e-mail addresses that failed from this network.
   */
  readonly deferredRank: number | null
}

type Hash = <T>(work: () => Promise<T>) => Promise<T>

export type PasswordQueue = {
  /** Hashes for a known browser. Rejects with PasswordsBusy when there is no room. */
  known<T>(source: Source, work: () => Promise<T>): Promise<T>
  /** Runs `turn` when it is the stranger's turn; in it, hashes wait for known browsers. Rejects with PasswordsBusy. */
  inTurn<T>(stranger: Stranger, turn: (hash: Hash) => Promise<T>): Promise<T>
  /** Rejects attempts whose response was sent already, so that shutdown does not wait for them. */
  rejectDeferred(): void
}

type Waiting = { readonly begin: () => void; readonly refuse: () => void }

type WaitingFrom = Waiting & { readonly source: Source }

/** Strangers who were answered already. At a dozen milliseconds each, the last of them waits half a minute. */
const MAX_DEFERRED = 2_000

/** Places for known browsers, and half as many for strangers, who cannot lock them out by filling the queue. */
export function createPasswordQueue(maxWaiting: number): PasswordQueue {
  const known = createFairQueue<WaitingFrom>(maxWaiting, ({ source }) => ({
    group: source.accountId,
    subgroup: source.network,
  }))
  const strangerHashes: Waiting[] = []
  const strangers = createFairQueue<WaitingFrom>(Math.ceil(maxWaiting / 2), ({ source }) => ({
    group: source.network,
    subgroup: source.accountId,
  }))
  const deferred = createRankedQueue<WaitingFrom>(MAX_DEFERRED, ({ source }) => source.network)
  let ended = false

  const hashing = createSlot(() => known.next(() => true) ?? strangerHashes.shift() ?? null)
  const turns = createSlot(() => strangers.next(() => true) ?? deferred.next())
  const hashInTurn: Hash = (work) => hashing.join((one) => void strangerHashes.push(one), work)

  return {
    known: (source, work) => hashing.join((one) => known.join({ ...one, source })?.refuse(), work),
    inTurn: (source, work) =>
      turns.join(
        (waiting) => {
          const one = { ...waiting, source }
          const { deferredRank } = source
          if (deferredRank === null) strangers.join(one)?.refuse()
          else if (ended) one.refuse()
          else deferred.join(one, deferredRank)?.refuse()
        },
        () => work(hashInTurn),
      ),
    rejectDeferred: () => {
      ended = true
      for (let one = deferred.next(); one; one = deferred.next()) one.refuse()
    },
  }
}

/** Runs one piece of work at a time; `next` chooses which. */
function createSlot(next: () => Waiting | null) {
  let taken = false
  const beginNext = () => {
    const one = taken ? null : next()
    if (!one) return
    taken = true
    one.begin()
  }
  const end = () => {
    taken = false
    beginNext()
  }
  return {
    join: <T>(enqueue: (one: Waiting) => void, work: () => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const begin = () => void work().finally(end).then(resolve, reject)
        const refuse = () => reject(new PasswordsBusy('too many passwords are being checked'))
        enqueue({ begin, refuse })
        beginNext()
      }),
  }
}
