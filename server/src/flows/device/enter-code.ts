/** Entry of a user code by an account user. docs/interface.md, "The user decides" and "Guessing". */
import type { Application } from '../../core/applications/application.ts'
import { byService, byUser } from '../../core/audit/actor.ts'
import { claim } from '../../core/device/code.ts'
import { readTypedCode } from '../../core/device/user-code.ts'
import { type Actors, actorOf, mayAsk } from '../../core/grants/granting.ts'
import { networkOf } from '../../core/network.ts'
import { CROWD, mayEnterCode, USER_MISSES } from '../../core/sign-in/attempts.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { digestUserCode } from '../../secrets/user-code.ts'
import { readAccount } from '../../store/accounts/accounts.ts'
import { lockUser, readUser } from '../../store/accounts/users.ts'
import { listApplications } from '../../store/applications/applications.ts'
import { hasRecentEvent, recordEvent } from '../../store/audit/events.ts'
import { hasMoved } from '../../store/cells/moves.ts'
import { findByUserCode, lockLiveUserCode, type StoredDeviceCode, saveDeviceCode } from '../../store/device/codes.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { countCrowd, lockCrowd, lockEntryHistory, recordEntry } from '../../store/sign-in/attempts.ts'
import type { HostAccount, SessionUser } from '../../store/sign-in/sessions.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'
import type { Context } from '../context.ts'
import { readParties } from '../grants/granting-facts.ts'
import { type FetchedCode, fetchAndClaim } from './fetch-code.ts'

export type EntryResult =
  | {
      readonly outcome: 'claimed'
      readonly userCode: string
      readonly code: StoredDeviceCode
      readonly application: Pick<Application, 'id' | 'name'>
    }
  | { readonly outcome: 'empty' }
  | { readonly outcome: 'mistyped'; readonly digits: number }
  /** Another user of this account has claimed the code and not decided yet. */
  | { readonly outcome: 'taken' }
  /** Unknown, expired, decided, used, barred by the account, or entered in another account: indistinguishable. */
  | { readonly outcome: 'not_recognised' }

/** On the command line, where an operator enters a code for a user, and in test mode. Not rate limited. */
export async function enterUserCode(
  context: Context,
  userId: string,
  typed: string,
  by: Actors = { kind: 'command_line' },
): Promise<EntryResult> {
  const read = readTypedCode(typed)
  if (read.answer === 'empty') return { outcome: 'empty' }
  if (read.answer === 'mistyped') return { outcome: 'mistyped', digits: read.digits }
  const user = context.cells && (await readUser(context.db, userId))
  const account = user && (await readAccount(context.db, user.accountId))
  return fetchAndClaim(context, account, read.userCode, by, (fetched) =>
    context.db.transaction(
      async (tx) => (await claimUserCode(context, tx, userId, read.userCode, by, fetched))?.result ?? null,
    ),
  )
}

export type WebEntryResult =
  | EntryResult
  | { readonly outcome: 'off' }
  | { readonly outcome: 'locked'; readonly waitMs: number }

/** On the account's page: rate limited by core/sign-in/attempts.ts. A mistyped code does not count as an attempt. */
export async function enterCode(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  typed: string,
  address: string | null,
): Promise<WebEntryResult> {
  const rules = await readAccount(context.db, account.id)
  if (!rules?.policy.deviceFlow) return { outcome: 'off' }
  const read = readTypedCode(typed)
  if (read.answer === 'empty') return { outcome: 'empty' }
  if (read.answer === 'mistyped') return { outcome: 'mistyped', digits: read.digits }

  const who = { accountId: account.id, userId: sessionUser.id, network: networkOf(address) }
  const by = { kind: 'page' } as const
  if (context.cells) {
    // The rate limit applies before other cells are asked. The attempt is recorded in the transaction below.
    const allowance = mayEnterCode(await context.db.transaction((tx) => lockEntryHistory(tx, who)))
    if (!allowance.allowed) return { outcome: 'locked', waitMs: allowance.waitMs }
  }
  return fetchAndClaim(context, rules, read.userCode, by, (fetched) =>
    context.db.transaction(async (tx): Promise<WebEntryResult | null> => {
      const history = await lockEntryHistory(tx, who)
      const allowance = mayEnterCode(history)
      if (!allowance.allowed) return { outcome: 'locked', waitMs: allowance.waitMs }

      const claimed = await claimUserCode(context, tx, sessionUser.id, read.userCode, by, fetched)
      if (!claimed) return null
      const { result, matchedCode } = claimed
      // Queried in every case, for equal timing as in claimUserCode.
      const known = await findByUserCode(tx, digestUserCode(context.config.keys, read.userCode))
      const exists = known !== null || (fetched !== null && fetched.answer !== 'unknown')
      const outcome = matchedCode ? 'claimed' : exists ? 'known' : 'missed'
      const application = matchedCode?.application ?? null
      const requestedNetwork = matchedCode && networkOf(matchedCode.requestedFrom)
      await recordEntry(tx, { ...who, outcome, applicationId: application?.id ?? null, requestedNetwork })
      if (outcome === 'missed' && history.userMisses.length + 1 === USER_MISSES.max) {
        await recordEvent(tx, {
          kind: 'entry.locked',
          actor: byUser(who.userId),
          ...who,
          detail: { network: who.network },
        })
      }
      if (application && requestedNetwork) await watchCrowd(tx, account, application, requestedNetwork)
      return result
    }),
  )
}

type Claimed = {
  readonly result: EntryResult
  /** The open code that was entered, even if another user has claimed it: every user counts towards a crowd. */
  readonly matchedCode: (RequestOriginAddress & { readonly application: Pick<Application, 'id' | 'name'> }) | null
}

type RequestOriginAddress = Pick<StoredDeviceCode, 'requestedFrom'>

const NOT_RECOGNISED: Claimed = { result: { outcome: 'not_recognised' }, matchedCode: null }

/** Null: the code was fetched, but the cell that issued it took it back before it was claimed. */
async function claimUserCode(
  { config }: Context,
  tx: Transaction,
  userId: string,
  userCode: string,
  by: Actors,
  fetched: FetchedCode | null,
): Promise<Claimed | null> {
  const locked = await lockLiveUserCode(tx, digestUserCode(config.keys, userCode))
  const user = await lockUser(tx, userId)
  // All are queried in every case, so that timing does not reveal whether a code exists.
  const closed = fetched?.answer === 'closed' ? fetched.code : null
  const parties = await readParties(tx, user, locked?.code.applicationId ?? closed?.applicationId ?? '')
  const claimant = await readUser(tx, locked?.code.claimedBy ?? '')
  const actor = actorOf(by, userId)
  if (closed && parties) {
    const { application, account } = parties
    const about = { accountId: account.id, userId, applicationId: application.id, deviceCodeId: closed.id }
    await recordEvent(tx, { kind: 'code.closed', actor, ...about })
    return { ...NOT_RECOGNISED, matchedCode: { requestedFrom: closed.requestedFrom, application } }
  }
  if (!locked && fetched?.answer === 'here' && (await mayBeElsewhere(tx, config.keys, userCode, user))) return null
  if (!locked || !parties) return NOT_RECOGNISED
  if (mayAsk({ flow: 'device', ...parties, by, now: locked.now }) !== 'ok') return NOT_RECOGNISED
  const { application, account } = parties
  const step = claim(locked.code, userId, claimant?.accountId === account.id, locked.now)
  if (step.answer === 'not_open') return NOT_RECOGNISED

  await saveDeviceCode(tx, step.next)
  const about = { applicationId: application.id, deviceCodeId: locked.code.id }
  await recordEvent(tx, { kind: KINDS[step.answer], actor, accountId: account.id, userId, ...about })
  if (step.answer === 'closed' && claimant) {
    const whose = { accountId: claimant.accountId, userId: claimant.id }
    await recordEvent(tx, { kind: 'code.entered_elsewhere', actor: byService('code-entry'), ...whose, ...about })
  }
  const code = { ...locked.code, ...step.next }
  const matchedCode = { requestedFrom: code.requestedFrom, application }
  if (step.answer === 'claimed') return { result: { outcome: 'claimed', userCode, code, application }, matchedCode }
  return { result: { outcome: step.answer === 'taken' ? 'taken' : 'not_recognised' }, matchedCode }
}

/**
 * Whether a fetched code that is not live here may be elsewhere: its issuer took it back, or the user's account has just
 * moved. Otherwise it was decided, has expired, or moved on with the account of another user.
 */
async function mayBeElsewhere(
  tx: Transaction,
  keys: Keyset,
  userCode: string,
  user: { readonly accountId: string } | null,
): Promise<boolean> {
  const found = await findByUserCode(tx, digestUserCode(keys, userCode))
  const { issuedBy = null, handedTo = null } = found?.code ?? {}
  return issuedBy === null || handedTo === issuedBy || hasMoved(tx, user?.accountId ?? '')
}

const KINDS = { claimed: 'code.claimed', taken: 'code.also_entered', closed: 'code.closed' } as const

/**
 * Notifies the account's administrators when many users enter codes that one application requested from one network;
 * at most once an hour.
 */
async function watchCrowd(
  tx: Transaction,
  account: HostAccount,
  application: Pick<Application, 'id' | 'name'>,
  requestedNetwork: string,
): Promise<void> {
  const people = await countCrowd(tx, application.id, requestedNetwork)
  if (people < CROWD.max) return
  await lockCrowd(tx, account.id, application.id)
  const event = { kind: 'code.crowd', accountId: account.id, applicationId: application.id } as const
  if (await hasRecentEvent(tx, event)) return
  await recordEvent(tx, { ...event, actor: byService('code-entry'), detail: { people, requestedNetwork } })
  const detail = { application: application.name, people, requestedFrom: requestedNetwork.split('/')[0] ?? null }
  await notifyAdministrators(tx, account.id, { kind: 'many_codes', detail })
}

/** What the page shows before a code is entered: the account's own rules, nothing about any code. */
export async function readEntryRules(
  context: Context,
  account: HostAccount,
): Promise<{ readonly off: boolean; readonly only: readonly string[] | null }> {
  const rules = await readAccount(context.db, account.id)
  const listed = rules?.policy.onlyApplications ?? null
  const only = listed && (await listApplications(context.db, listed)).map(({ name }) => name)
  return { off: !rules?.policy.deviceFlow, only }
}
