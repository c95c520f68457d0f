/**
 * Background tasks of a process: pull application changes, revocations and decisions, save usage, judge applications,
 * send mails and webhooks, seal the audit log, count live codes and past days, erase closed
 * accounts, sweep.
 *
 * `jobs/` only schedules; the work is in `flows/`. A failed task is retried on its next run.
 */

import { eraseClosedAccounts } from '../flows/accounts/close.ts'
import { countDays } from '../flows/applications/days.ts'
import { recheckPublisher } from '../flows/applications/recheck-publisher.ts'
import { createSealer } from '../flows/audit/seal.ts'
import type { Context } from '../flows/context.ts'
import { dropRetiredKeys } from '../flows/operator/retire-key.ts'
import { noteActivity } from '../flows/restore/activity.ts'
import { completeJournal, hasNewHistory, settleRestore } from '../flows/restore/settle.ts'
import { judgeApplications } from '../flows/reviews/judge.ts'
import { remindOperators } from '../flows/reviews/remind-operators.ts'
import { sendDueMails } from '../flows/send-mails.ts'
import { recordRefusals } from '../flows/sign-in/refusals.ts'
import { sweep } from '../flows/sweep.ts'
import { createWebhookSender } from '../flows/webhooks/send.ts'
import { markOperatorsAccount } from '../store/accounts/accounts.ts'
import { Unavailable } from '../store/postgres/postgres.ts'

/** Suspensions, secrets, new applications and revocations reach every process within this time and a round trip. */
const REFRESH_MS = 1_000

/**
 * Decisions made in another process reach this one within this time and a round trip: within a second, also on a busy
 * machine.
 */
const DECISIONS_MS = 250

/** With Redis, which announces decisions at once: only one whose announcement was lost waits for so long. */
const DECISIONS_WITH_REDIS_MS = 750

/** Only the first use of a day and of a generation is stored, so the uses of one second fit into one statement. */
const USES_MS = 1_000

/** After a commit that was not confirmed, transactions are refused until then. */
const COMPLETE_MS = 1_000

/** flows/operator/retire-key.ts: a key that was not recorded for three of these is used by no process. */
const SIGNING_MS = 10_000

const SWEEP_MS = 5 * 60 * 1000

/** Short, because a user who asked for a link is waiting for the mail. */
const MAIL_MS = 1_000

/** Maximum delay before a new event is picked up for delivery. */
const WEBHOOKS_MS = 500

/** Maximum delay before a developer's own requests appear in the console's figures. */
const USAGE_MS = 2_000

/** Not urgent: applications are judged once a minute. */
const EARLY_POLLS_MS = 10_000

/** A lock-out is mailed within this time. */
const REFUSALS_MS = 2_000

/** Refusals of an hour appear in the audit log within this time after it. */
const RECORD_REFUSALS_MS = 60_000

const JUDGE_MS = 60_000

/** The command line knows the operators' account within this time after it was created. */
const OPERATORS_MS = 60_000

/** Operators are notified of a suspension within this time, and reminded again a day later. */
const REMIND_MS = 60_000

/** One publisher's DNS record per run, each record once a day: a process can check four thousand of them. */
const PUBLISHER_MS = 20 * 1000

const RECOUNT_MS = 30 * 1000

/** Maximum age of today's figures of a busy application on the pages of operators. */
const COUNT_DAYS_MS = 5 * 60 * 1000

/** How long a new event stays unsealed: until then it could be changed undetected. */
const SEAL_MS = 1_000

/** How soon the rows of a closed account begin to be deleted. Its credentials are refused before. */
const ERASE_MS = 5_000

/** Without a verification in between, at most this much of the log's end could be cut off undetected. */
const HEAD_MS = 60 * 60 * 1000

export type Background = { stop(): Promise<void> }

export function startBackground(context: Context): Background {
  let postgresAnswers = true
  /** Lines of the revocation journal in which to look for lost commits: all of them after an attempt that failed. */
  let unsettled: 'newest' | 'all' | null = null
  let noticedAt = 0
  const notice = () => {
    if (unsettled === null) noticedAt = performance.now()
    unsettled ??= 'newest'
  }
  const refresh = async () => {
    try {
      const refreshed = await context.applications.refresh()
      if (refreshed === 'reloaded') {
        context.events.reloaded()
        notice()
      }
      if (unsettled !== null) {
        const lines = unsettled
        unsettled = 'all'
        if (await settleRestore(context, lines, performance.now() - noticedAt)) unsettled = null
      }
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
  const decisionsMs = context.config.redisUrl === null ? DECISIONS_MS : DECISIONS_WITH_REDIS_MS
  const tasks = [
    repeat(context, 'pulling applications', REFRESH_MS, refresh),
    repeat(context, 'pulling revocations', REFRESH_MS, () => context.grantCache.pull()),
    repeat(context, 'pulling decisions', decisionsMs, () => context.decisions.pull()),
    repeat(context, 'dropping retired keys', REFRESH_MS, () => dropRetired(context)),
    repeat(context, 'recording the signing key', SIGNING_MS, async () => {
      if (await hasNewHistory(context.db)) notice()
      await noteActivity(context)
    }),
    repeat(context, 'completing the journal', COMPLETE_MS, async () => {
      if (context.journal?.inDoubt) await completeJournal(context)
    }),
    repeat(context, 'saving last use', USES_MS, () => saveUses(context)),
    repeat(context, 'saving usage counters', USAGE_MS, () => context.usage.save()),
    repeat(context, 'saving early polls', EARLY_POLLS_MS, () => context.earlyPolls.save()),
    repeat(context, 'saving refusals', REFUSALS_MS, () => saveRefusals(context)),
    repeat(context, 'recording refusals', RECORD_REFUSALS_MS, () => recordRefusals(context.db)),
    repeat(context, 'judging applications', JUDGE_MS, () => judgeApplications(context)),
    repeat(context, 'marking the operators’ account', OPERATORS_MS, () => markOperators(context)),
    repeat(context, 'reminding operators', REMIND_MS, () => remindOperators(context)),
    repeat(context, 'sending webhooks', WEBHOOKS_MS, () => webhooks.run()),
    repeat(context, 'saving shed requests', USAGE_MS, () => context.load.save()),
    repeat(context, 'sealing the audit log', SEAL_MS, () => sealer.run()),
    repeat(context, 'noting the audit head', HEAD_MS, async () => sealer.logHead()),
    repeat(context, 'erasing closed accounts', ERASE_MS, () => eraseClosedAccounts(context.db)),
    repeat(context, 'counting live codes', RECOUNT_MS, () => context.liveCodes.recount()),
    repeat(context, 'counting days', COUNT_DAYS_MS, () => countDays(context)),
    repeat(context, 'checking publishers', PUBLISHER_MS, () => recheckPublisher(context)),
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
      await saveRefusals(context).catch(expected)
      await saveUses(context).catch(expected)
      await sealer.run().catch(expected)
      sealer.logHead()
    },
  }
}

async function markOperators({ db, config }: Context): Promise<void> {
  if (config.operatorAccount !== null) await markOperatorsAccount(db, config.operatorAccount)
}

async function dropRetired(context: Context): Promise<void> {
  if (!(await dropRetiredKeys(context))) throw new Error('the signing key was retired')
}

async function saveUses({ grantCache, applications }: Context): Promise<void> {
  await grantCache.saveUses()
  await applications.saveUses()
}

/** Also releases the attempts to sign in that were left while PostgreSQL was unavailable. */
async function saveRefusals({ attempts, refusals }: Context): Promise<void> {
  await attempts.releaseWaiting()
  await refusals.save()
}

const AWAY = 'PostgreSQL does not answer'

/**
 * Handles an unavailable PostgreSQL without logging: the task that pulls applications logs it once for all tasks. The
 * operators' console still shows it for each.
 */
function expected(error: unknown): typeof AWAY {
  if (!(error instanceof Unavailable)) throw error
  return AWAY
}

/** Runs a task periodically, never two runs at once. Returns a function that stops it and awaits the current run. */
function repeat(context: Context, name: string, everyMs: number, task: () => Promise<unknown>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout
  let stopped = false
  context.tasks.started(name, everyMs)
  const plan = () => {
    timer = setTimeout(() => {
      running = task()
        .catch(expected)
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
