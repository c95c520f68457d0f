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

/** While PostgreSQL is unavailable, the counters grow up to this limit; requests beyond it are not counted. */
const MAX_APPLICATIONS = 10_000
const MAX_NOTED = 20_000

type Batch = {
  readonly counts: Map<string, Counted>
  readonly noted: Map<string, NotedRequest[]>
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
    const known = batch.noted.get(request.applicationId)
    const alike = known?.filter(({ authenticated }) => authenticated === request.authenticated) ?? []
    const [oldest] = alike.length < (request.authenticated ? MAX_REQUESTS : MAX_UNAUTHENTICATED) ? [] : alike
    if (known && oldest) known.splice(known.indexOf(oldest), 1)
    else if (batch.held < MAX_NOTED) batch.held += 1
    else return
    if (known) known.push(request)
    else batch.noted.set(request.applicationId, [request])
  }
  /** Restores an unsaved batch and adds what was counted meanwhile. */
  const putBack = (unsaved: Batch) => {
    const since = batch
    batch = unsaved
    for (const [applicationId, counted] of since.counts) {
      for (const [what, by] of Object.entries(counted)) count(applicationId, what as keyof Counted, by)
    }
    for (const requests of since.noted.values()) requests.forEach(note)
  }

  return {
    count: (applicationId, what) => count(applicationId, what),
    note,
    save: async () => {
      const saving = batch
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

async function write(tx: Parameters<typeof addCounts>[0], { counts, noted }: Batch): Promise<void> {
  const counted = Array.from(counts, ([applicationId, each]) => ({ applicationId, ...each }))
  const requests = [...noted.values()].flat()
  if (counted.length > 0) await addCounts(tx, counted)
  if (requests.length > 0) await insertRequests(tx, requests)
}
