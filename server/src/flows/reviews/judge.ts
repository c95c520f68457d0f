/**
 * Suspension rule, applied every minute: reads the evidence about applications, judges it and updates their reviews.
 * Owners are warned first; a suspension can follow after `warningHours` (a day by default). It lasts until an operator
 * decides the review, unless a number of hours is configured after which the application is reinstated.
 * docs/operations/operator-console.md, "When an application polls too fast".
 */
import type { Application } from '../../core/applications/application.ts'
import { byService } from '../../core/audit/actor.ts'
import { EARLY_POLLS_SPAN_MS, isFarTooFast, isQuiet } from '../../core/reviews/early-polls.ts'
import { spanOf } from '../../core/reviews/evidence.ts'
import type { ReviewReason } from '../../core/reviews/review.ts'
import {
  type Evidence,
  figuresOf,
  harm,
  type JudgementReason,
  judge,
  type Thresholds,
  type Verdict,
  warningState,
} from '../../core/reviews/suspension.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { hasEventOfToday, recordEvent } from '../../store/audit/events.ts'
import { readClock } from '../../store/device/partitions.ts'
import { allowLongQueries, type Transaction } from '../../store/postgres/postgres.ts'
import { findWaitingDecision, readLastEffect } from '../../store/reviews/decisions.ts'
import { listPollCounts, listSuspects } from '../../store/reviews/evidence.ts'
import {
  findNewestReview,
  insertReview,
  lockReviews,
  type Review,
  saveReview,
  tryLockJudging,
} from '../../store/reviews/reviews.ts'
import { setSuspension } from '../applications/manage.ts'
import type { Context } from '../context.ts'
import { notifyOwners } from './notify.ts'
import { openedReview } from './open.ts'
import { type Case, completeCase, readCases } from './read-evidence.ts'
import { thresholdsOf } from './thresholds.ts'

const BY_RULE = byService('suspension-rule')

const HOUR_MS = 3_600_000

/** A review opened by the rule is closed automatically after this time without escalation. */
const CALM_MS = 7 * 24 * HOUR_MS

/**
 * Evidence is read by one process at a time; judging is serialized per application. A second process that judges the
 * same evidence again changes nothing.
 */
export async function judgeApplications(context: Context): Promise<void> {
  const thresholds = thresholdsOf(context)
  const cases = await context.db.transaction(async (tx): Promise<readonly CountedCase[]> => {
    if (!(await tryLockJudging(tx))) return []
    await allowLongQueries(tx)
    const now = await readClock(tx)
    // A code may be granted some time after its last early poll.
    const since = spanOf(now, thresholds).from - context.config.deviceCodeLifetimeMs
    const tooFast = new Set(await listFarTooFast(tx, now))
    const suspects = new Set(await listSuspects(tx, since, thresholds)).union(tooFast)
    if (suspects.size === 0) return []
    const known = await readCases(context, tx, [...suspects], { thresholds, now })
    return known.map((each) => ({ ...each, tooFast: tooFast.has(each.applicationId) }))
  })
  for (const each of cases) {
    // An application whose judgement fails must not block the others.
    await context.db
      .transaction((tx) => judgeOne(tx, each, thresholds))
      .catch((error) => context.events.taskFailed('judging applications', error))
  }
}

async function listFarTooFast(tx: Transaction, now: number): Promise<readonly string[]> {
  const counts = await listPollCounts(tx, now - EARLY_POLLS_SPAN_MS)
  return counts.filter(isFarTooFast).map(({ applicationId }) => applicationId)
}

const RANKS: readonly Verdict[] = ['fine', 'observe', 'review', 'warn', 'suspend']

const isCalm = (verdict: Verdict) => RANKS.indexOf(verdict) <= RANKS.indexOf('observe')

type Turn = {
  readonly tx: Transaction
  readonly application: Application
  readonly thresholds: Thresholds
  readonly evidence: Evidence
  readonly judgement: Finding
}

/** A judgement by the rule, or early polls that it does not count. */
type Finding = { readonly verdict: Verdict; readonly reasons: readonly (JudgementReason | 'early_polls')[] }

const EARLY_POLLS: Finding = { verdict: 'review', reasons: ['early_polls'] }

type CountedCase = Case & {
  /** `isFarTooFast`. */
  readonly tooFast: boolean
}

async function judgeOne(tx: Transaction, known: CountedCase, thresholds: Thresholds): Promise<void> {
  await lockReviews(tx, known.applicationId)
  const newest = await findNewestReview(tx, known.applicationId)
  // An operator decided about this evidence in the meantime.
  if (newest && newest.closedAt !== null && newest.closedAt >= known.now) return
  const current = newest?.closedAt === null ? newest : null
  const application = await findApplication(tx, known.applicationId)
  if (!application || application.deleted) {
    if (current) await saveReview(tx, { ...current, suspensionEndsAt: null, closedAt: known.now })
    return
  }
  const open = current && isRestoredByHand(current, application) ? withoutWarning(current) : current
  const warnedAt = open?.warnedAt ?? null
  const byRule = judge({ ...known, warnedAt }, thresholds)
  const onlyEarly =
    known.tooFast && isCalm(byRule.verdict) && (await mayShowEarlyPolls(tx, application, open, known.now))
  const judgement = onlyEarly ? EARLY_POLLS : byRule
  if (!open && isCalm(judgement.verdict)) return

  const turn = { tx, application, thresholds, judgement, evidence: await completeCase(tx, known, warnedAt) }
  const judged = await writeDown(turn, open)
  const result = await reinstateInTime(turn, await suspend(turn, await warn(turn, judged)))
  const next = isOverForGood(turn, result) ? { ...result, closedAt: known.now } : result
  await (open ? saveReview(tx, next) : insertReview(tx, next))
}

/** One review per application: early polls open none beside another, nor soon after an operator's decision. */
async function mayShowEarlyPolls(
  tx: Transaction,
  { id, suspended }: Application,
  open: Review | null,
  now: number,
): Promise<boolean> {
  if (open) return open.reason === 'early_polls'
  if (suspended) return false
  return !isQuiet(await readLastEffect(tx, id), now)
}

function reasonOf(reasons: Finding['reasons']): ReviewReason {
  if (reasons.includes('reports')) return 'reports'
  return reasons.includes('early_polls') ? 'early_polls' : 'polling'
}

/** While the verdict is calm, keeps the evidence of the last escalation, which operators will want to see. */
async function writeDown(turn: Turn, open: Review | null): Promise<Review> {
  const { tx, application, thresholds, evidence } = turn
  const { verdict, reasons } = turn.judgement
  const { now, warnedAt } = evidence
  if (open && isCalm(verdict)) {
    return { ...open, verdict: application.suspended ? open.verdict : verdict, judgedAt: now, warnedAt }
  }
  const reason = reasonOf(reasons)
  const review = open ?? openedReview(application.id, reason, thresholds, now)
  const confirmed = review.reason === 'early_polls' && reason !== 'early_polls'
  const worse = !open || confirmed || RANKS.indexOf(verdict) > RANKS.indexOf(open.verdict)
  if (worse) {
    const detail = { review: review.id, verdict, reasons, thresholds }
    await recordEvent(tx, { kind: 'application.judged', actor: BY_RULE, applicationId: application.id, detail })
  }
  return {
    ...review,
    reason: reason === 'reports' || confirmed ? reason : review.reason,
    ...{ verdict, evidence, thresholds, warnedAt },
    harm: harm(evidence),
    judgedAt: now,
    lastEscalatedAt: now,
    version: review.version + (open && worse ? 1 : 0),
  }
}

/** Warns the owner once per incident, and at most once a day. */
async function warn({ tx, application, thresholds, evidence, judgement }: Turn, review: Review): Promise<Review> {
  if (judgement.verdict !== 'warn' || warningState(evidence, thresholds) !== 'over') return review
  const about = { kind: 'application.warned', applicationId: application.id } as const
  if (await hasEventOfToday(tx, about)) return review
  const figures = figuresOf(evidence, thresholds)
  const until = evidence.now + thresholds.warningHours * HOUR_MS
  await recordEvent(tx, {
    ...about,
    actor: BY_RULE,
    accountId: application.accountId,
    detail: { reason: 'polls_too_fast', review: review.id, figures },
  })
  await notifyOwners(tx, application, { what: 'warned', suspended: application.suspended, figures, until })
  return { ...review, warnedAt: evidence.now, version: review.version + 1 }
}

async function suspend({ tx, application, thresholds, evidence, judgement }: Turn, review: Review): Promise<Review> {
  if (judgement.verdict !== 'suspend' || application.suspended) return review
  const figures = figuresOf(evidence, thresholds)
  const { reinstateAfterHours } = thresholds
  const until = reinstateAfterHours === 0 ? null : evidence.now + reinstateAfterHours * HOUR_MS
  const detail = { reason: 'polls_too_fast' as const, review: review.id, figures }
  // An operator suspended it at this moment: leave that suspension alone; it does not end automatically.
  if ((await setSuspension(tx, BY_RULE, application.id, true, detail)).outcome === 'refused') return review
  await notifyOwners(tx, application, { what: 'suspended', suspended: true, figures, until })
  return { ...review, suspendedAt: evidence.now, suspensionEndsAt: until, version: review.version + 1 }
}

/**
 * Reinstates an application whose suspension by the rule has an end, unless users reported it or a decision to keep it
 * suspended and revoke its grants waits for a second operator. The review stays open, and a further suspension needs a
 * new warning.
 */
async function reinstateInTime({ tx, application, evidence }: Turn, review: Review): Promise<Review> {
  const { suspensionEndsAt } = review
  if (suspensionEndsAt === null || evidence.now < suspensionEndsAt) return review
  // Two operators are needed to reinstate a reported application.
  if (review.reason === 'reports') return review
  if ((await findWaitingDecision(tx, review.id))?.decision === 'keep_and_revoke') return review
  if (application.suspended) {
    await setSuspension(tx, BY_RULE, application.id, false, { reason: 'not_decided_in_time', review: review.id })
    await notifyOwners(tx, application, { what: 'expired', suspended: false })
  }
  return withoutWarning(review)
}

/**
 * True if an operator restored it on the command line. The warning before that suspension is used up: a further
 * suspension needs a new one.
 */
function isRestoredByHand({ suspendedAt, warnedAt }: Review, { suspended }: Application): boolean {
  return !suspended && suspendedAt !== null && warnedAt !== null && warnedAt < suspendedAt
}

function withoutWarning(review: Review): Review {
  return { ...review, suspensionEndsAt: null, warnedAt: null, version: review.version + 1 }
}

/** True if the review needs no operator: no reports, no suspension, no appeal, and calm for `CALM_MS`. */
function isOverForGood({ application, evidence }: Turn, review: Review): boolean {
  const ofPolls = review.reason === 'polling' || review.reason === 'early_polls'
  const settled = ofPolls && review.suspendedAt === null && review.appealedAt === null
  return settled && !application.suspended && evidence.now - review.lastEscalatedAt >= CALM_MS
}
