/**
 * What applications do, counted in process and written down every few seconds: a poll must not cost a write. What is lost when a
 * process dies is a few seconds of numbers, and numbers are all it is.
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
  /** Of each application only the last fifty until the next save; and the last ten of those that anybody could have sent. */
  note(request: NotedRequest): void
  /** Throws when PostgreSQL is away; what was to be saved then waits for the next time. */
  save(): Promise<void>
}

/** While PostgreSQL is away the counters grow up to this limit; requests beyond it are not counted. */
const MAX_APPLICATIONS = 10_000
const MAX_NOTED = 20_000

type Batch = {
  readonly counts: Map<string, Counted>
  readonly noted: Map<string, NotedRequest[]>
  /** How many are in `noted`, of all applications together. */
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
  /** What came in since then goes on top of it. */
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
        // Where nobody knows whether it was committed, a few seconds count twice rather than not at all. What PostgreSQL
        // does not take for another reason it will not take the next time either, so that is dropped.
        if (error instanceof Unavailable) putBack(saving)
        throw error
      }
      // After the commit: who trims last has then seen what all the others wrote.
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
