/** Whether the service is well, on one page: its engines, this process's tasks, and what goes on at this moment. */

import {
  type CodeOutcomes,
  type MailFigures,
  readMailFigures,
  readOutcomes,
  readPollRate,
  readServer,
} from '../../store/operator/figures.ts'
import { readSchemaState, type SchemaState } from '../../store/postgres/migrate.ts'
import { Unavailable } from '../../store/postgres/postgres.ts'
import { listWaitingSuspensions } from '../../store/reviews/reviews.ts'
import type { Context } from '../context.ts'
import { listReviews, type ReviewLine } from '../reviews/list.ts'
import type { TaskLine } from './tasks.ts'

export type Overview = {
  readonly postgres: {
    readonly version: string
    /** How long it took to ask and to be answered. */
    readonly roundTripMs: number
    /** How far this machine's clock is ahead of PostgreSQL's. Only PostgreSQL's counts; people who read logs want to know. */
    readonly clockAheadMs: number
    readonly schema: SchemaState
  }
  readonly gate: { readonly shared: boolean; readonly answers: boolean }
  readonly mail: MailFigures & { readonly server: boolean }
  readonly tasks: readonly TaskLine[]
  readonly live: {
    readonly waitingDevices: number
    readonly pollsPerSecond: number
    /** Of the last hour; null: there were too many to count while somebody waits. */
    readonly outcomes: CodeOutcomes | null
  }
  /** Open ones, the worst first. */
  readonly reviews: readonly ReviewLine[]
  /** Suspended applications that wait for a decision; since when the first of them does, null without one. */
  readonly waitingSuspensions: { readonly count: number; readonly oldest: number | null }
}

async function readWaitingSuspensions({ db }: Context): Promise<Overview['waitingSuspensions']> {
  const waiting = await listWaitingSuspensions(db)
  return { count: waiting.length, oldest: waiting[0]?.since ?? null }
}

export async function readOverview(context: Context): Promise<Overview> {
  const { db, gate, config, mailer, tasks, liveCodes } = context
  const asked = Date.now()
  const { version, now } = await readServer(db)
  const answered = Date.now()
  return {
    postgres: {
      version,
      roundTripMs: answered - asked,
      clockAheadMs: (asked + answered) / 2 - now,
      schema: await readSchemaState(db),
    },
    gate: { shared: config.redisUrl !== null, answers: gate.answers },
    mail: { ...(await readMailFigures(db)), server: mailer !== null },
    tasks: tasks.list(),
    live: {
      waitingDevices: liveCodes.count(),
      pollsPerSecond: await readPollRate(db),
      outcomes: await readOutcomes(db).catch(tooMany),
    },
    reviews: await listReviews(context, 'open'),
    waitingSuspensions: await readWaitingSuspensions(context),
  }
}

function tooMany(error: unknown): null {
  if (error instanceof Unavailable) return null
  throw error
}
