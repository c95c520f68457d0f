/**
 * Metrics of this process and backlogs in PostgreSQL, for both Prometheus and OpenTelemetry. docs/operations.md,
 * "Metrics".
 */
import { readSealLagMs } from '../../store/audit/seals.ts'
import { readAheadMs } from '../../store/device/partitions.ts'
import { readMailFigures, readServer, readWebhookFigures } from '../../store/operator/figures.ts'
import { Unavailable } from '../../store/postgres/postgres.ts'
import { listWaitingSuspensions } from '../../store/reviews/reviews.ts'
import { type Family, gauge } from '../../telemetry/family.ts'
import { readProcess } from '../../telemetry/process-figures.ts'
import type { Context } from '../context.ts'

export type MetricsReader = () => Promise<readonly Family[]>

/** Cache time of the figures from PostgreSQL, however many scrapers ask. */
const KEPT_MS = 5_000

export function createMetricsReader(context: Context): MetricsReader {
  let kept: Promise<readonly Family[]> | null = null
  let readAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (!kept || performance.now() - readAt > KEPT_MS) {
      readAt = performance.now()
      kept = readBacklogs(context)
    }
    const backlogs = await kept
    return [...context.counts.families(), ...readOwn(context), ...backlogs, ...readProcess()]
  }
}

/** Metrics known in process, without a query. */
function readOwn({ config, db, gate, load, liveCodes, tasks }: Context): readonly Family[] {
  const pools = db.pools()
  const { shed, delayMs } = load.figures()
  const perPool = (value: (pool: (typeof pools)[number]) => number) =>
    pools.map((pool) => ({ labels: { pool: pool.name }, value: value(pool) }))
  return [
    {
      name: 'latchkey_shed_total',
      help: 'Requests that were turned away because there were too many, by what they wanted; line: waited in vain.',
      type: 'counter',
      samples: Object.entries(shed).map(([what, value]) => ({ labels: { what }, value })),
    },
    gauge(
      'latchkey_event_loop_delay_seconds',
      'How long a request waits before this process looks at it, over the last seconds.',
      delayMs / 1000,
    ),
    gauge(
      'latchkey_gate_shared',
      '1: polls are paced on Redis for all processes; 0: in this one.',
      flag(config.redisUrl),
    ),
    gauge(
      'latchkey_gate_up',
      '1: the gate answers; 0: Redis is away, and this process paces alone.',
      flag(gate.answers),
    ),
    {
      name: 'latchkey_gate_failures_total',
      help: 'Times that Redis did not answer.',
      type: 'counter',
      samples: [{ labels: {}, value: gate.failures }],
    },
    gauge(
      'latchkey_postgres_connections',
      'Connections to PostgreSQL.',
      pools.flatMap(({ name: pool, used, idle }) => [
        { labels: { pool, state: 'used' }, value: used },
        { labels: { pool, state: 'idle' }, value: idle },
      ]),
    ),
    gauge(
      'latchkey_postgres_connections_max',
      'Connections there may be.',
      perPool(({ max }) => max),
    ),
    gauge(
      'latchkey_postgres_waiting',
      'Requests that wait for a connection.',
      perPool(({ waiting }) => waiting),
    ),
    gauge('latchkey_waiting_devices', 'Codes that are pending, as counted each half minute.', liveCodes.count()),
    gauge(
      'latchkey_task_overdue',
      '1: a background task has not succeeded for three turns and half a minute.',
      tasks.list().map(({ name: task, overdue }) => ({ labels: { task }, value: flag(overdue) })),
    ),
  ]
}

/** Backlogs in PostgreSQL, over all processes. If it is unavailable, only that is reported. */
async function readBacklogs({ db }: Context): Promise<readonly Family[]> {
  try {
    const { now } = await readServer(db)
    const mails = await readMailFigures(db)
    const webhooks = await readWebhookFigures(db)
    const suspensions = await listWaitingSuspensions(db)
    const age = (oldest: number | null) => (oldest === null ? 0 : Math.max(0, now - oldest) / 1000)
    return [
      up(true),
      gauge('latchkey_mails_waiting', 'Mails in the outbox.', mails.waiting),
      gauge('latchkey_mails_oldest_age_seconds', 'How old the oldest mail in the outbox is.', age(mails.oldest)),
      gauge('latchkey_webhooks_waiting', 'Webhooks in the outbox.', webhooks.waiting),
      gauge(
        'latchkey_webhooks_oldest_age_seconds',
        'How old the oldest webhook in the outbox is.',
        age(webhooks.oldest),
      ),
      gauge(
        'latchkey_webhooks_overdue_seconds',
        'How long the oldest webhook that is due has waited to be sent.',
        webhooks.overdueMs / 1000,
      ),
      gauge(
        'latchkey_suspensions_waiting',
        'Suspended applications that wait for an operator to review them.',
        suspensions.length,
      ),
      gauge(
        'latchkey_suspension_wait_seconds',
        'How long the first of them has waited.',
        age(suspensions[0]?.since ?? null),
      ),
      gauge(
        'latchkey_audit_seal_lag_seconds',
        'How long the oldest event has waited for its seal.',
        (await readSealLagMs(db)) / 1000,
      ),
      gauge(
        'latchkey_partitions_ahead_seconds',
        'For how long codes find their partition ready.',
        (await readAheadMs(db)) / 1000,
      ),
    ]
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    return [up(false)]
  }
}

function up(answers: boolean): Family {
  return gauge('latchkey_postgres_up', '1: PostgreSQL answered; 0: it did not.', flag(answers))
}

function flag(value: unknown): number {
  return value ? 1 : 0
}
