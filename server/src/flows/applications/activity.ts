/**
 * Activity of an account's own application: requests, funnel, polling and distance to suspension. Read-only; saves
 * developers a question to the operator.
 */
import type { ActivityFigures } from '../../core/applications/activity.ts'
import type { Application } from '../../core/applications/application.ts'
import { figuresOf, type SuspensionStatus, windowsInARow } from '../../core/reviews/suspension.ts'
import { listRequests, type RequestLine, readCounts, readDecisions } from '../../store/applications/activity.ts'
import { readOwnApplication } from '../../store/applications/own.ts'
import { readClock } from '../../store/device/partitions.ts'
import { findOpenReview } from '../../store/reviews/reviews.ts'
import type { Context } from '../context.ts'
import { readEvidence } from '../reviews/read-evidence.ts'
import { thresholdsOf } from '../reviews/thresholds.ts'

export type Activity = ActivityFigures & {
  readonly requests: readonly RequestLine[]
  readonly suspension: SuspensionStatus
}

/** The current hour and the 23 before it. */
const HOURS = 24

/** Null if the application is not this account's. */
export async function readActivity(context: Context, accountId: string, id: string): Promise<Activity | null> {
  const { db } = context
  const application = await readOwnApplication(db, accountId, id)
  if (!application) return null
  const counts = await readCounts(db, id, HOURS)
  const decisions = await readDecisions(db, id, HOURS)
  const { polls, earlyPolls: early, requested, secretsInUrl } = counts
  return {
    id,
    name: application.name,
    requests: await listRequests(db, id),
    funnel: { requested, ...decisions },
    polling: { polls, early, factor: polls === 0 ? null : polls / Math.max(1, polls - early) },
    secretsInUrl,
    suspension: await readSuspension(context, application),
  }
}

const HOUR_MS = 3_600_000

async function readSuspension(
  context: Context,
  { id, suspended, pollIntervalSeconds }: Pick<Application, 'id' | 'suspended' | 'pollIntervalSeconds'>,
): Promise<SuspensionStatus> {
  const { db } = context
  const thresholds = thresholdsOf(context)
  const review = await findOpenReview(db, id)
  const now = await readClock(db)
  const warnedAt = review?.warnedAt ?? null
  const evidence = await readEvidence(context, db, id, { thresholds, now, warnedAt })
  return {
    ...{ suspended, pollIntervalSeconds },
    figures: figuresOf(evidence, thresholds),
    inARow: windowsInARow(evidence, thresholds),
    overloaded: evidence.windows.some(({ overloaded }) => overloaded),
    warned: warnedAt === null ? null : { at: warnedAt, until: warnedAt + thresholds.warningHours * HOUR_MS },
    suspensionEndsAt: review?.suspensionEndsAt ?? null,
    appealedAt: review?.appealedAt ?? null,
  }
}
