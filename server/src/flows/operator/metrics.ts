/** Metrics of this process and backlogs in PostgreSQL. docs/operations/monitoring.md, "Metrics". */
import { readSealLagMs } from '../../store/audit/seals.ts'
import { readAheadMs } from '../../store/device/partitions.ts'
import { readServer, readTransactionAges, readWaitingMails, readWebhookFigures } from '../../store/operator/figures.ts'
import { Unavailable } from '../../store/postgres/postgres.ts'
import { listWaitingSuspensions } from '../../store/reviews/reviews.ts'
import { type Family, gauge } from '../../telemetry/family.ts'
import { readProcess } from '../../telemetry/process-figures.ts'
import type { Context } from '../context.ts'

export type MetricsReader = () => Promise<readonly Family[]>

/** Cache time of the figures from PostgreSQL, regardless of the number of scrapers. */
const KEPT_MS = 5_000

export function createMetricsReader(context: Context): MetricsReader {
  let kept: Promise<readonly Family[]> | null = null
  let readAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (!kept || performance.now() - readAt > KEPT_MS) {
      readAt = performance.now()
      kept = readBacklogs(context)
    }
    return [...readInProcess(context), ...(await kept)]
  }
}

/** Metrics known in process, without a query. */
export function readInProcess(context: Context): readonly Family[] {
  return [...context.counts.families(), ...readOwn(context), ...readProcess()]
}

function readOwn({ config, db, gate, heldPolls, load, liveCodes, tasks }: Context): readonly Family[] {
  const pools = db.pools()
  const { shed, delayMs } = load.figures()
  const perPool = (value: (pool: (typeof pools)[number]) => number) =>
    pools.map((pool) => ({ labels: { pool: pool.name }, value: value(pool) }))
  return [
    {
      name: 'latchkey_shed_total',
      help: 'Number of requests rejected under overload, by kind. line: dropped from the queue for a connection.',
      type: 'counter',
      samples: Object.entries(shed).map(([what, value]) => ({ labels: { what }, value })),
    },
    gauge(
      'latchkey_event_loop_delay_seconds',
      'Mean event loop delay over the last seconds, in seconds.',
      delayMs / 1000,
      'max',
    ),
    gauge(
      'latchkey_gate_shared',
      '1 if polls are paced in Redis for all processes, 0 if in this process only.',
      flag(config.redisUrl),
      'max',
    ),
    gauge(
      'latchkey_gate_up',
      '1 if the gate is available, 0 if Redis is unreachable and this process paces polls on its own.',
      flag(gate.answers),
      'min',
    ),
    {
      name: 'latchkey_gate_failures_total',
      help: 'Number of failed or timed-out calls to Redis.',
      type: 'counter',
      samples: [{ labels: {}, value: gate.failures }],
    },
    gauge(
      'latchkey_postgres_connections',
      'Number of open connections to PostgreSQL, by pool and state.',
      pools.flatMap(({ name: pool, used, idle }) => [
        { labels: { pool, state: 'used' }, value: used },
        { labels: { pool, state: 'idle' }, value: idle },
      ]),
    ),
    gauge(
      'latchkey_postgres_connections_max',
      'Maximum number of connections to PostgreSQL, by pool.',
      perPool(({ max }) => max),
    ),
    gauge(
      'latchkey_postgres_waiting',
      'Number of requests waiting for a connection to PostgreSQL, by pool.',
      perPool(({ waiting }) => waiting),
    ),
    gauge('latchkey_held_polls', 'Number of polls that this process holds until the user decides.', heldPolls.count),
    gauge(
      'latchkey_waiting_devices',
      'Number of pending device codes, counted every 30 seconds.',
      liveCodes.count(),
      'max',
    ),
    gauge(
      'latchkey_task_overdue',
      '1 if a background task has not succeeded for three intervals plus 30 seconds, by task.',
      tasks.list().map(({ name: task, overdue }) => ({ labels: { task }, value: flag(overdue) })),
      'max',
    ),
  ]
}

/** Backlogs in PostgreSQL, over all processes. If it is unavailable, only that is reported. */
async function readBacklogs({ db }: Context): Promise<readonly Family[]> {
  try {
    const { now } = await readServer(db)
    const mails = await readWaitingMails(db)
    const webhooks = await readWebhookFigures(db)
    const suspensions = await listWaitingSuspensions(db)
    const transactions = await readTransactionAges(db)
    const age = (oldest: number | null) => (oldest === null ? 0 : Math.max(0, now - oldest) / 1000)
    return [
      up(true),
      backlog('latchkey_mails_waiting', 'Number of mails in the outbox.', mails.waiting),
      backlog(
        'latchkey_mails_oldest_age_seconds',
        'Age of the oldest mail in the outbox in seconds.',
        age(mails.oldest),
      ),
      backlog('latchkey_webhooks_waiting', 'Number of webhook deliveries in the outbox.', webhooks.waiting),
      backlog(
        'latchkey_webhooks_oldest_age_seconds',
        'Age of the oldest webhook delivery in the outbox in seconds.',
        age(webhooks.oldest),
      ),
      backlog(
        'latchkey_webhooks_overdue_seconds',
        'Time since the oldest unsent webhook delivery became due, in seconds.',
        webhooks.overdueMs / 1000,
      ),
      backlog(
        'latchkey_suspensions_waiting',
        'Number of suspended applications waiting for a review by an operator.',
        suspensions.length,
      ),
      backlog(
        'latchkey_suspension_wait_seconds',
        'Longest time a suspended application has been waiting for its review, in seconds.',
        age(suspensions[0]?.since ?? null),
      ),
      backlog(
        'latchkey_audit_seal_lag_seconds',
        'Age of the oldest audit event without a seal, in seconds.',
        (await readSealLagMs(db)) / 1000,
      ),
      backlog(
        'latchkey_partitions_ahead_seconds',
        'Time until device codes need a partition that does not exist yet, in seconds.',
        (await readAheadMs(db)) / 1000,
      ),
      backlog(
        'latchkey_postgres_transaction_id_age',
        'Number of transaction ids since the oldest row that PostgreSQL has not frozen, over all databases.',
        transactions.ids,
      ),
      backlog(
        'latchkey_postgres_oldest_transaction_seconds',
        'Age of the oldest running transaction that the service can see, in seconds.',
        transactions.oldestMs / 1000,
      ),
    ]
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    return [up(false)]
  }
}

/** Read from PostgreSQL: the same for every process, except that one may have read it earlier. */
function backlog(name: string, help: string, value: number): Family {
  return gauge(name, help, value, 'max')
}

function up(answers: boolean): Family {
  return gauge('latchkey_postgres_up', '1 if PostgreSQL is reachable, 0 if not.', flag(answers), 'min')
}

function flag(value: unknown): number {
  return value ? 1 : 0
}
