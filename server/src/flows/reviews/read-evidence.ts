/** Evidence about applications at this moment, for the rule and for display. Read-only. */
import { spanOf } from '../../core/reviews/evidence.ts'
import type { Evidence, Thresholds } from '../../core/reviews/suspension.ts'
import { readCounts, readDecisions } from '../../store/applications/activity.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import { readFactor, readReports, readWindows } from '../../store/reviews/evidence.ts'
import { readOverloads } from '../../store/reviews/overloads.ts'
import type { Context } from '../context.ts'

/** Evidence for judging, except the warning that the owner got. */
export type Case = Pick<Evidence, 'windows' | 'touched' | 'reports' | 'now'> & { readonly applicationId: string }

/** For many applications at once. */
export async function readCases(
  { config }: Pick<Context, 'config'>,
  db: Queryable,
  applicationIds: readonly string[],
  { thresholds, now }: { readonly thresholds: Thresholds; readonly now: number },
): Promise<readonly Case[]> {
  const span = spanOf(now, thresholds)
  const codeLifetimeMs = config.deviceCodeLifetimeMs
  // An overload affects codes for their whole lifetime.
  const overloads = await readOverloads(db, span.from - codeLifetimeMs - 60_000, span.to)
  const gathered = await readWindows(db, applicationIds, span, { overloads, codeLifetimeMs }, thresholds)
  const reports = await readReports(db, applicationIds, now)
  return applicationIds.map((applicationId) => ({
    applicationId,
    windows: gathered.get(applicationId)?.windows ?? [],
    touched: gathered.get(applicationId)?.touched ?? 0,
    reports: reports.get(applicationId) ?? 0,
    now,
  }))
}

/** The current hour and the 23 before it. */
const HOURS = 24

/** Adds the figures for display only: polling factor and funnel. */
export async function completeCase(
  db: Queryable,
  { applicationId, ...known }: Case,
  warnedAt: number | null,
): Promise<Evidence> {
  const factor = await readFactor(db, applicationId, known.windows[0]?.startsAt ?? known.now)
  const { requested } = await readCounts(db, applicationId, HOURS)
  const { entered, granted } = await readDecisions(db, applicationId, HOURS)
  return { ...known, factor, funnel: { requested, entered, granted }, warnedAt }
}

/** For one application. */
export async function readEvidence(
  context: Pick<Context, 'config'>,
  db: Queryable,
  applicationId: string,
  by: { readonly thresholds: Thresholds; readonly now: number; readonly warnedAt: number | null },
): Promise<Evidence> {
  const [known] = await readCases(context, db, [applicationId], by)
  if (!known) throw new Error('no evidence was read for the application')
  return completeCase(db, known, by.warnedAt)
}
