/** Applications under review: one suspended by the rule, one reported by users, one with a closed review. */
import { byService } from '../../../src/core/audit/actor.ts'
import type { Evidence, Window } from '../../../src/core/reviews/suspension.ts'
import { setSuspension } from '../../../src/flows/applications/manage.ts'
import { decideReview } from '../../../src/flows/reviews/decide.ts'
import { readReviewedApplication } from '../../../src/flows/reviews/list.ts'
import { openedReview } from '../../../src/flows/reviews/open.ts'
import { insertReview, lockReviews, type Review } from '../../../src/store/reviews/reviews.ts'
import { connect } from '../connect.ts'
import { type MadeApplication, type MadeUser, makeApplication, makeUser } from '../make.ts'
import { defaultThresholds } from '../thresholds.ts'
import type { Northwind } from './northwind.ts'

export type Reviewed = Readonly<Record<'fast' | 'reported' | 'settled', MadeApplication>>

const made = new WeakMap<Northwind, Promise<Reviewed>>()

/** Created on first use: most tests do not need it. */
export function reviewed(northwind: Northwind): Promise<Reviewed> {
  const known = made.get(northwind) ?? make(northwind)
  made.set(northwind, known)
  return known
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE

async function make(northwind: Northwind): Promise<Reviewed> {
  const { service, omar, gus, dana, ben } = northwind
  const { db } = service.context
  const register = (name: string) => makeApplication(db, service.config, 'makers', { name })
  const fast = await register('Harbour Lights')
  const reported = await register('Free Invoices')
  const settled = await register('Night Porter')
  await service.context.applications.refresh()
  for (const user of [gus, dana, ben]) await connect(service, { user, application: fast, scope: 'orders:read' })
  await pretendPolls(northwind, fast)
  const now = await clock(northwind)
  const windows = [0, 1, 2].map((place) => windowAt(now - (3 - place) * 10 * MINUTE, 27 + 2 * place))
  const evidence = { windows, touched: 34, factor: 6.2, reports: 0, warnedAt: now - 26 * HOUR }
  await open(northwind, fast, 'polling', {
    verdict: 'suspend',
    harm: 170,
    evidence: { ...evidence, funnel: { requested: 1_240, entered: 702, granted: 664 }, now },
    warnedAt: now - 26 * HOUR,
    suspendedAt: now - 2 * HOUR,
    appealedAt: now - 40 * MINUTE,
    appealedBy: await ownerOf(northwind),
    appeal: 'Version 4.3 waits as long as it is told.\nIt is on its way to all of our displays. Please let it go on.',
  })
  const complaints = { windows: [], touched: 0, factor: 1, reports: 4, warnedAt: null }
  await open(northwind, reported, 'reports', {
    verdict: 'review',
    harm: 90,
    evidence: { ...complaints, funnel: { requested: 900, entered: 60, granted: 9 }, now },
  })
  await service.database.query('update reviews set suspension_ends_at = null where application_id = $1', [reported.id])
  await decide(northwind, reported, omar, 'reinstate', 'mistaken', 'All four reports are about another application.')
  await open(northwind, settled, 'polling', {
    verdict: 'warn',
    harm: 12,
    suspended: false,
    evidence: { ...evidence, touched: 12, factor: 2, funnel: { requested: 80, entered: 71, granted: 70 }, now },
  })
  await decide(northwind, settled, omar, 'reinstate_slower', 'broken_firmware', 'Ten seconds until version 2 is out.')
  return { fast, reported, settled }
}

function windowAt(startsAt: number, accounts: number): Window {
  const counts = { grantedAccounts: 210, ignoringAccounts: accounts, ignoringNetworks: Math.round(accounts / 2) }
  const anyAccount = { ...counts, ignoringAccounts: accounts + 3, grantedAccounts: 231 }
  return { ...counts, startsAt, overloaded: false, anyAccount }
}

type Facts = Partial<Omit<Review, 'evidence'>> & { readonly evidence: Evidence; readonly suspended?: boolean }

async function open(
  northwind: Northwind,
  { id }: MadeApplication,
  reason: Review['reason'],
  { suspended = true, ...facts }: Facts,
): Promise<void> {
  const { context } = northwind.service
  const now = await clock(northwind)
  await context.db.transaction(async (tx) => {
    await lockReviews(tx, id)
    if (suspended) await setSuspension(tx, byService('suspension-rule'), id, true, { reason: 'polls_too_fast' })
    await insertReview(tx, { ...openedReview(id, reason, defaultThresholds, now - 3 * HOUR), ...facts })
  })
}

async function decide(
  { service: { context } }: Northwind,
  { id }: MadeApplication,
  by: MadeUser,
  decision: 'reinstate' | 'reinstate_slower',
  reason: 'mistaken' | 'broken_firmware',
  words: string,
): Promise<void> {
  const looked = await readReviewedApplication(context, id)
  const intervalSeconds = decision === 'reinstate_slower' ? 10 : null
  const wish = { applicationId: id, seen: looked?.seen ?? '' }
  const result = await decideReview(context, by.id, { ...wish, decision, reason, words, intervalSeconds })
  if (!['decided', 'waits_for_second'].includes(result.outcome))
    throw new Error(`it was not decided: ${result.outcome}`)
}

/** Increasing polls for the charts: the last hours in steps of five minutes, the last month by hours. */
async function pretendPolls({ service: { database } }: Northwind, { id }: MadeApplication): Promise<void> {
  await database.query(
    `insert into application_minutes (application_id, at, polls, early_polls)
     select $1, at, 300 + 40 * n, 20 + 34 * n from generate_series(1, 36) n,
       lateral (select date_bin('5 minutes', now(), 'epoch') - (36 - n) * interval '5 minutes' as at) step
     on conflict (application_id, at) do update set polls = excluded.polls, early_polls = excluded.early_polls`,
    [id],
  )
  await database.query(
    `insert into application_hours (application_id, hour, requested, polls, early_polls)
     select $1, date_trunc('hour', now()) - n * interval '12 hours', 30 + n % 7, 900, 12 * n from generate_series(1, 56) n`,
    [id],
  )
}

async function clock({ service: { database } }: Northwind): Promise<number> {
  const [row] = await database.query<{ now: Date }>('select now()')
  return row?.now.getTime() ?? 0
}

/** An administrator of the owning account. */
async function ownerOf({ service: { context, database } }: Northwind): Promise<string> {
  const [known] = await database.query<{ id: string }>("select id from users where email = 'mia@makers.example'")
  return known?.id ?? (await makeUser(context.db, 'makers', { email: 'mia@makers.example' })).id
}
