/**
 * Housekeeping: creates partitions of device codes (hourly) and of the audit log (monthly) ahead of time, drops old
 * partitions of device codes, revokes grants whose dialog code was never exchanged, ends test modes that are past their
 * time, expires operator changes that nobody confirmed, and purges rows past retention.
 */
import type { Config } from '../config.ts'
import { KEPT_AFTER_EXPIRY_MS } from '../core/device/code.ts'
import { forgetAddressChanges } from '../store/accounts/address-changes.ts'
import { forgetCounts } from '../store/applications/activity.ts'
import { forgetDays } from '../store/applications/days.ts'
import { forgetChecks } from '../store/applications/publisher-checks.ts'
import { ensureAuditPartitions } from '../store/audit/partitions.ts'
import { countMissing, type Dropped, dropPartitions, ensurePartitions, readClock } from '../store/device/partitions.ts'
import { forgetDialogs, revokeUnexchanged } from '../store/dialog/dialogs.ts'
import { forgetGrantChanges } from '../store/grants/changes.ts'
import { forgetMails } from '../store/mails.ts'
import { forgetRequests } from '../store/manage/requests.ts'
import { type Postgres, Unavailable } from '../store/postgres/postgres.ts'
import { forgetAddresses, forgetEndedGrants } from '../store/postgres/retention.ts'
import { forgetEarlyPolls } from '../store/reviews/early-polls.ts'
import { forgetOverloads } from '../store/reviews/overloads.ts'
import { forgetAttempts } from '../store/sign-in/attempts.ts'
import { forgetLinks } from '../store/sign-in/links.ts'
import { forgetChallenges } from '../store/sign-in/methods.ts'
import { forgetSessions } from '../store/sign-in/sessions.ts'
import { forgetDeliveries } from '../store/webhooks/deliveries.ts'
import { forgetEndpoints } from '../store/webhooks/endpoints.ts'
import { endOverdueTestModes } from './applications/test-mode.ts'
import { expireOperatorChanges } from './operator/expire-changes.ts'

/** Sweeps may fail for this long before a code request has to make its own partition. */
const AHEAD_MS = 2 * 60 * 60 * 1000

/** Expired hourly partitions tolerated before the sweep fails: a backup keeps the table in use for some hours. */
const MAX_LEFT = 6

/** In order of references: mails before the links they refer to, deliveries before their endpoints. */
const FORGET = [
  forgetAttempts,
  forgetChallenges,
  forgetMails,
  forgetLinks,
  forgetAddressChanges,
  forgetSessions,
  forgetDialogs,
  forgetGrantChanges,
  forgetCounts,
  forgetDays,
  forgetEarlyPolls,
  forgetDeliveries,
  forgetEndpoints,
  forgetOverloads,
  forgetChecks,
  forgetRequests,
]

/** The settings that a sweep reads. */
export const SWEEP_SETTINGS = [
  'deviceCodeLifetimeMs',
  'dialogCodeLifetimeMs',
  'grantLifetimeMs',
  'grantRetentionMs',
  'addressRetentionMs',
] as const

/** Partitions come first, so that device codes keep working even if a later purge fails. */
export async function sweep(db: Postgres, config: Pick<Config, (typeof SWEEP_SETTINGS)[number]>): Promise<Dropped> {
  await makePartitionsAhead(db, config.deviceCodeLifetimeMs)
  const dropped = await dropPartitions(db, (await readClock(db)) - KEPT_AFTER_EXPIRY_MS)
  await db.transaction((tx) => revokeUnexchanged(tx, config.dialogCodeLifetimeMs))
  await endOverdueTestModes(db)
  await expireOperatorChanges(db)
  for (const forget of FORGET) await forget(db)
  await forgetEndedGrants(db, { keptMs: config.grantRetentionMs, maxMs: config.grantLifetimeMs })
  await forgetAddresses(db, config.addressRetentionMs)
  if (dropped.left.length > MAX_LEFT) {
    throw new Unavailable(`${dropped.left.length} partitions of device_codes are over, and the table is always in use`)
  }
  return dropped
}

export async function makePartitionsAhead(db: Postgres, lifetimeMs: number): Promise<void> {
  await ensureAuditPartitions(db)
  const now = await readClock(db)
  await ensurePartitions(db, now, now + lifetimeMs + AHEAD_MS)
}

/** Number of missing partitions. Looks only half of AHEAD_MS ahead, so that a few missed sweeps do not count. */
export async function missingPartitions(db: Postgres, lifetimeMs: number): Promise<number> {
  const now = await readClock(db)
  return countMissing(db, now, now + lifetimeMs + AHEAD_MS / 2)
}
