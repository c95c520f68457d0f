/**
 * What runs beside the requests: pulling what changed and what was decided, noting what was used, judging applications, sending mails and webhooks,
 * sealing the audit log, counting live codes, sweeping.
 *
 * `jobs/` only says when; what is done is a flow. A task that fails is tried again at its next turn.
 */

import { recheckPublisher } from '../flows/applications/recheck-publisher.ts'
import { createSealer } from '../flows/audit/seal.ts'
import type { Context } from '../flows/context.ts'
import { judgeApplications } from '../flows/reviews/judge.ts'
import { remindOperators } from '../flows/reviews/remind-operators.ts'
import { sendDueMails } from '../flows/send-mails.ts'
import { sweep } from '../flows/sweep.ts'
import { createWebhookSender } from '../flows/webhooks/send.ts'
import { Unavailable } from '../store/postgres/postgres.ts'

/** Suspensions, secrets, new applications and revocations are known everywhere within this time and a round trip. */
const REFRESH_MS = 1_000

/** Decisions made elsewhere are known here within this time and a round trip: within a second, also on a busy machine. */
const DECISIONS_MS = 250

/** Of use is only the day; a second's worth of them is one statement. */
const USES_MS = 1_000

const SWEEP_MS = 5 * 60 * 1000

/** Whoever asked for a link is looking at their mailbox. */
const MAIL_MS = 1_000

/** How old an event can get before anybody looks at it. */
const WEBHOOKS_MS = 500

/** A developer who looks waits no longer than this for what they just did. */
const USAGE_MS = 2_000

/** Judged each minute, so nobody waits for it. */
const EARLY_POLLS_MS = 10_000

const JUDGE_MS = 60_000

/** A suspension is told within this time; an operator who was reminded is reminded again a day later. */
const REMIND_MS = 60_000

/** So late does a process learn what the others gave an application. */
const EXCHANGE_MS = 1_000

/** One publisher's record at a time, each once a day: four thousand of them for every process. */
const PUBLISHER_MS = 20 * 1000

const RECOUNT_MS = 30 * 1000

/** Until then an event could be changed without a trace. */
const SEAL_MS = 1_000

/** How much of the log's end could be cut off without a trace, if it were never verified in between. */
const HEAD_MS = 60 * 60 * 1000

export type Background = { stop(): Promise<void> }

export function startBackground(context: Context): Background {
  let postgresAnswers = true
  const refresh = async () => {
    try {
      await context.applications.refresh()
      if (!postgresAnswers) context.events.engine('postgresql', true)
      postgresAnswers = true
      return null
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      if (postgresAnswers) context.events.engine('postgresql', false, error.message)
      postgresAnswers = false
      return AWAY
    }
  }
  const webhooks = createWebhookSender(context)
  const sealer = createSealer(context)
  const seal = () => sealer.run().catch(expected)
  const tasks = [
    repeat(context, 'pulling applications', REFRESH_MS, refresh),
    repeat(context, 'pulling revocations', REFRESH_MS, () => context.grantCache.pull().catch(expected)),
    repeat(context, 'pulling decisions', DECISIONS_MS, () => context.decisions.pull().catch(expected)),
    repeat(context, 'noting use', USES_MS, () => saveUses(context).catch(expected)),
    repeat(context, 'saving usage counters', USAGE_MS, () => context.usage.save().catch(expected)),
    repeat(context, 'saving early polls', EARLY_POLLS_MS, () => context.earlyPolls.save().catch(expected)),
    repeat(context, 'judging applications', JUDGE_MS, () => judgeApplications(context).catch(expected)),
    repeat(context, 'reminding operators', REMIND_MS, () => remindOperators(context).catch(expected)),
    repeat(context, 'sending webhooks', WEBHOOKS_MS, () => webhooks.run().catch(expected)),
    repeat(context, 'exchanging counts', EXCHANGE_MS, () => context.limiter.codes.exchange()),
    repeat(context, 'saving what was shed', USAGE_MS, () => context.load.save().catch(expected)),
    repeat(context, 'sealing the audit log', SEAL_MS, seal),
    repeat(context, 'noting the audit head', HEAD_MS, async () => sealer.logHead()),
    repeat(context, 'counting live codes', RECOUNT_MS, () => context.liveCodes.recount()),
    repeat(context, 'checking publishers', PUBLISHER_MS, () => recheckPublisher(context).catch(expected)),
    repeat(context, 'sweeping', SWEEP_MS, async () => {
      await sweep(context.db, context.config)
    }),
    ...(context.mailer ? [repeat(context, 'sending mails', MAIL_MS, () => sendDueMails(context))] : []),
  ]
  return {
    stop: async () => {
      await Promise.all(tasks.map((stop) => stop()))
      await webhooks.stop()
      await context.usage.save().catch(expected)
      await context.earlyPolls.save().catch(expected)
      await context.load.save().catch(expected)
      await saveUses(context).catch(expected)
      await seal()
      sealer.logHead()
    },
  }
}

async function saveUses({ grantCache, applications }: Context): Promise<void> {
  await grantCache.saveUses()
  await applications.saveUses()
}

const AWAY = 'PostgreSQL does not answer'

/** That PostgreSQL is away is said once, by the task that pulls applications. The operators' console knows of each. */
function expected(error: unknown): typeof AWAY {
  if (!(error instanceof Unavailable)) throw error
  return AWAY
}

/** One turn after the other, never two at once. Returns the way to stop, which waits for the turn that runs. */
function repeat(context: Context, name: string, everyMs: number, task: () => Promise<unknown>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout
  let stopped = false
  context.tasks.started(name, everyMs)
  const plan = () => {
    timer = setTimeout(() => {
      running = task()
        .then((result) => (result === AWAY ? context.tasks.failed(name, AWAY) : context.tasks.succeeded(name)))
        .catch((error) => {
          context.tasks.failed(name, error)
          context.events.taskFailed(name, error)
        })
        .finally(() => {
          if (!stopped) plan()
        })
    }, everyMs)
  }
  plan()
  return () => {
    stopped = true
    clearTimeout(timer)
    return running
  }
}
