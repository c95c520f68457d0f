/**
 * Overview page for operators: health of PostgreSQL, Redis and mail, tasks of this process, live figures, open reviews.
 */

import type { Attention } from '../../core/operator/attention.ts'
import type { TaskLine } from '../../core/operator/listed.ts'
import type { QueueLine } from '../../core/reviews/queue.ts'
import { readAttention } from '../../store/operator/attention.ts'
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
import { countQueue, listQueue } from '../../store/reviews/queue.ts'
import { listWaitingSuspensions } from '../../store/reviews/reviews.ts'
import type { Context } from '../context.ts'

export type Overview = {
  readonly postgres: {
    readonly version: string
    readonly roundTripMs: number
    /**
     * How far this machine's clock is ahead of PostgreSQL's. Only PostgreSQL's clock counts; the offset matters for
     * reading logs.
     */
    readonly clockAheadMs: number
    readonly schema: SchemaState
  }
  readonly gate: { readonly shared: boolean; readonly answers: boolean }
  readonly mail: MailFigures & { readonly server: boolean }
  readonly tasks: readonly TaskLine[]
  readonly live: {
    readonly waitingDevices: number
    readonly pollsPerSecond: number
    /** Of the last hour; null if counting them exceeded the statement timeout. */
    readonly outcomes: CodeOutcomes | null
  }
  /** What waits for a decision, most harmful first: the first page. */
  readonly queue: readonly QueueLine[]
  readonly waiting: number
  readonly attention: Attention
  /** Suspended applications that wait for a decision; `oldest`: since when the first one waits. */
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
    queue: (await listQueue(db, 'open')).lines,
    waiting: await countQueue(db),
    attention: await readAttention(db),
    waitingSuspensions: await readWaitingSuspensions(context),
  }
}

function tooMany(error: unknown): null {
  if (error instanceof Unavailable) return null
  throw error
}
