/** Entry of a user code by an account user. docs/interface/device-flow.md, "The user decides" and "Guessing". */
import type { Application } from '../../core/applications/application.ts'
import { byService, byUser } from '../../core/audit/actor.ts'
import { readTypedCode } from '../../core/device/user-code.ts'
import type { Actors } from '../../core/grants/granting.ts'
import { networkOf } from '../../core/network.ts'
import { CROWD, mayEnterCode, USER_MISSES } from '../../core/sign-in/attempts.ts'
import { readAccount } from '../../store/accounts/accounts.ts'
import { listApplications } from '../../store/applications/applications.ts'
import { hasRecentEvent, recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { countCrowd, lockCrowd, lockEntryHistory, recordEntry } from '../../store/sign-in/attempts.ts'
import type { HostAccount, SessionUser } from '../../store/sign-in/sessions.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'
import type { Context } from '../context.ts'
import { type Claimed, type ClaimResult, claimUserCode } from './claim-code.ts'
import { wakePolls } from './wake-polls.ts'

export type EntryResult =
  | ClaimResult
  | { readonly outcome: 'empty' }
  | { readonly outcome: 'mistyped'; readonly digits: number }

/**
 * On the command line, where an operator enters a code for a user, and in test mode. Not rate limited. `instead`: to continue
 * instead of a colleague.
 */
export async function enterUserCode(
  context: Context,
  userId: string,
  typed: string,
  by: Actors = { kind: 'command_line' },
  instead = false,
): Promise<EntryResult> {
  const read = readTypedCode(typed)
  if (read.answer === 'empty') return { outcome: 'empty' }
  if (read.answer === 'mistyped') return { outcome: 'mistyped', digits: read.digits }
  const entry = { userId, by, person: null, instead }
  return tell(context, await context.db.transaction((tx) => claimUserCode(context, tx, entry, read.userCode)))
}

type Locked = { readonly outcome: 'locked'; readonly waitMs: number }

export type WebEntryResult = EntryResult | Locked | { readonly outcome: 'off' }

/**
 * On the account's page: rate limited by core/sign-in/attempts.ts. A mistyped code does not count as an attempt. `instead`: to
 * continue instead of a colleague.
 */
export async function enterCode(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  typed: string,
  address: string | null,
  instead = false,
): Promise<WebEntryResult> {
  const rules = await readAccount(context.db, account.id)
  if (!rules?.policy.deviceFlow) return { outcome: 'off' }
  const read = readTypedCode(typed)
  if (read.answer === 'empty') return { outcome: 'empty' }
  if (read.answer === 'mistyped') return { outcome: 'mistyped', digits: read.digits }

  const who = { accountId: account.id, userId: sessionUser.id, network: networkOf(address) }
  const entry = { userId: sessionUser.id, by: { kind: 'page' } as const, person: sessionUser.session.person, instead }
  const claimed = await context.db.transaction(async (tx): Promise<Claimed | Locked> => {
    const history = await lockEntryHistory(tx, who)
    const allowance = mayEnterCode(history, context.config.codeEntryLimit)
    if (!allowance.allowed) return { outcome: 'locked', waitMs: allowance.waitMs }

    const entered = await claimUserCode(context, tx, entry, read.userCode)
    const { matchedCode, exists } = entered
    const outcome = matchedCode ? 'claimed' : exists ? 'known' : 'missed'
    const application = matchedCode?.application ?? null
    const requestedNetwork = matchedCode && networkOf(matchedCode.requestedFrom)
    const about = { applicationId: application?.id ?? null, deviceCodeId: matchedCode?.id ?? null }
    await recordEntry(tx, { ...who, outcome, ...about, requestedNetwork })
    if (outcome === 'missed' && history.userMisses.length + 1 === USER_MISSES.max) {
      await recordEvent(tx, {
        kind: 'entry.locked',
        actor: byUser(who.userId),
        ...who,
        detail: { network: who.network },
      })
    }
    if (application && requestedNetwork) await watchCrowd(tx, account, application, requestedNetwork)
    return entered
  })
  return 'outcome' in claimed ? claimed : tell(context, claimed)
}

/** After the commit. The polls of a code that the entry closed are told that it expired. */
async function tell(context: Context, { result, closedCode }: Claimed): Promise<ClaimResult> {
  if (closedCode) await wakePolls(context, closedCode.id)
  return result
}

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
