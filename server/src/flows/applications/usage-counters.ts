/**
 * Usage counters: counts per application, kept in process and flushed every few seconds, so that a poll costs no write.
 * A crash loses a few seconds of statistics, nothing else.
 */
import {
  addCounts,
  insertRequests,
  MAX_REQUESTS,
  MAX_UNAUTHENTICATED,
  type NotedRequest,
  trimRequests,
} from '../../store/applications/activity.ts'
import { type Postgres, Unavailable } from '../../store/postgres/postgres.ts'

type Counted = { requested: number; polls: number; earlyPolls: number; secretsInUrl: number }

export type UsageCounters = {
  count(applicationId: string, what: keyof Counted): void
  /**
   * Keeps the last 50 authenticated requests per application until the next save, and the last 10 unauthenticated ones,
   * which anyone can send.
   */
  note(request: NotedRequest): void
  /** Throws if PostgreSQL is unavailable; the unsaved data is kept for the next call. */
  save(): Promise<void>
}

/**
 * Requests in the name of no application are noted under this id and never saved: they take as long as the others, also
 * after the response, so that their time does not tell which applications exist.
 */
export const NO_APPLICATION = ''

/** While PostgreSQL is unavailable, the counters grow up to this limit; requests beyond it are not counted. */
const MAX_APPLICATIONS = 10_000
const MAX_NOTED = 20_000

/** Requests of one application, oldest first. */
type Noted = { readonly authenticated: NotedRequest[]; readonly unauthenticated: NotedRequest[] }

type Batch = {
  readonly counts: Map<string, Counted>
  readonly noted: Map<string, Noted>
  /** Number of requests in `noted`, over all applications. */
  held: number
}

const emptyBatch = (): Batch => ({ counts: new Map(), noted: new Map(), held: 0 })

export function createUsageCounters(db: Postgres): UsageCounters {
  let batch = emptyBatch()

  const countedOf = (applicationId: string): Counted | null => {
    const known = batch.counts.get(applicationId)
    if (known) return known
    if (batch.counts.size >= MAX_APPLICATIONS) return null
    const fresh = { requested: 0, polls: 0, earlyPolls: 0, secretsInUrl: 0 }
    batch.counts.set(applicationId, fresh)
    return fresh
  }
  const count = (applicationId: string, what: keyof Counted, by = 1) => {
    const counted = countedOf(applicationId)
    if (counted) counted[what] += by
  }
  const note = (request: NotedRequest) => {
    const { applicationId, authenticated } = request
    const noted = batch.noted.get(applicationId) ?? { authenticated: [], unauthenticated: [] }
    const alike = authenticated ? noted.authenticated : noted.unauthenticated
    if (alike.length >= (authenticated ? MAX_REQUESTS : MAX_UNAUTHENTICATED)) alike.shift()
    else if (batch.held < MAX_NOTED) batch.held += 1
    else return
    alike.push(request)
    batch.noted.set(applicationId, noted)
  }
  /** Restores an unsaved batch and adds what was counted meanwhile. */
  const putBack = (unsaved: Batch) => {
    const since = batch
    batch = unsaved
    for (const [applicationId, counted] of since.counts) {
      for (const [what, by] of Object.entries(counted)) count(applicationId, what as keyof Counted, by)
    }
    for (const request of everyRequest(since)) note(request)
  }

  return {
    count: (applicationId, what) => count(applicationId, what),
    note,
    save: async () => {
      const saving = batch
      discard(saving, NO_APPLICATION)
      if (saving.counts.size === 0 && saving.noted.size === 0) return
      batch = emptyBatch()
      try {
        await db.transaction((tx) => write(tx, saving))
      } catch (error) {
        // Unavailable: keep the batch. If the commit outcome is unknown, counting a few seconds twice is better than
        // losing them. Drop it on other errors, which would recur on a retry.
        if (error instanceof Unavailable) putBack(saving)
        throw error
      }
      // Trim after the commit, so that the last process to trim sees the rows of all others.
      if (saving.noted.size > 0) await trimRequests(db, [...saving.noted.keys()])
    },
  }
}

function discard(batch: Batch, applicationId: string): void {
  const noted = batch.noted.get(applicationId)
  if (!noted) return
  batch.held -= noted.authenticated.length + noted.unauthenticated.length
  batch.noted.delete(applicationId)
}

/** By time, which is the order in which they are inserted and listed. */
function everyRequest({ noted }: Batch): readonly NotedRequest[] {
  return [...noted.values()]
    .flatMap(({ authenticated, unauthenticated }) => [...authenticated, ...unauthenticated])
    .sort((a, b) => a.at - b.at)
}

async function write(tx: Parameters<typeof addCounts>[0], batch: Batch): Promise<void> {
  const counted = Array.from(batch.counts, ([applicationId, each]) => ({ applicationId, ...each }))
  const requests = everyRequest(batch)
  if (counted.length > 0) await addCounts(tx, counted)
  if (requests.length > 0) await insertRequests(tx, requests)
}
