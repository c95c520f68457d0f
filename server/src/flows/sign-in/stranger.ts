/**
 * Password sign-in from a browser that never signed in as this user. Budgets of the network, the account and the service
 * are checked before any hashing.
 * docs/decisions/0035-strangers-are-budgeted-before-hashing.md.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../config.ts'
import {
  decideStranger,
  type SpentBudget,
  type StrangerDecision,
  type StrangerLimits,
} from '../../core/sign-in/stranger.ts'
import { insertMail, lockRecentMails } from '../../store/mails.ts'
import type { SignInAttempt } from '../../store/sign-in/attempts.ts'
import type { SignInUser } from '../../store/sign-in/methods.ts'
import type { Context } from '../context.ts'
import { createLink } from './mailed-link.ts'
import { busy, countRefused, type Refused, sourceOf, withAttempt } from './prove.ts'

/**
 * The password is checked after the response, which does not reveal whether it is right. If it is, a link is mailed.
 */
export type AskedToConfirm = { readonly outcome: 'confirm'; readonly afterwards: () => Promise<void> }

type Given<Result> = {
  readonly attempt: SignInAttempt
  readonly user: SignInUser | null
  readonly password: string
  readonly language: string
  /** Signs the user in. */
  readonly enter: (user: SignInUser) => Promise<Result>
}

export function strangerLimits(config: Config): StrangerLimits {
  return { addressesPerNetwork: config.signInAddressesPerNetwork, service: config.signInFailures }
}

export async function signInAsStranger<Result extends { readonly outcome: string }>(
  context: Context,
  given: Given<Result>,
): Promise<Result | Refused | AskedToConfirm> {
  const { attempt } = given
  const { decision, inAllAccounts } = await decide(context, attempt)
  if (decision.outcome === 'refuse') {
    countRefused(context, { ...attempt, email: null, userId: null }, decision.spent)
    return { outcome: 'locked', waitMs: decision.waitMs }
  }
  if (decision.outcome === 'confirm') return askToConfirm(context, given, inAllAccounts)
  if (decision.outcome === 'delay') await sleep(decision.delayMs)
  const checked = await check(context, given, null).catch(busy)
  if (checked.outcome === 'right') return given.enter(checked.user)
  return checked.outcome === 'busy' && context.mailer ? askToConfirm(context, given, inAllAccounts) : checked
}

async function decide(
  context: Context,
  attempt: SignInAttempt,
): Promise<{ readonly decision: StrangerDecision; readonly inAllAccounts: number }> {
  const history = await context.signInFailures.read(sourceOf(attempt))
  const about = { known: false, canMail: context.mailer !== null }
  const decision = decideStranger(history, strangerLimits(context.config), about)
  if (decision.outcome !== 'allow') countSlowed(context, attempt, decision.spent)
  return { decision, inAllAccounts: history.inAllAccounts }
}

type Checked = { readonly outcome: 'right'; readonly user: SignInUser } | Refused

/**
 * Checks the password when it is the stranger's turn; until then the attempt takes no connection to PostgreSQL, either.
 * Many may have failed meanwhile, so the budgets are read once more. Turns follow each other, so that a process judges
 * and counts its strangers one by one: a budget is passed by at most one guess of each further process.
 * `deferredRank`: see `Stranger`.
 */
function check(
  context: Context,
  { attempt, user, password }: Pick<Given<unknown>, 'attempt' | 'user' | 'password'>,
  deferredRank: number | null,
): Promise<Checked> {
  const source = sourceOf(attempt)
  return context.passwords.strangerInTurn({ ...source, deferredRank }, async (matches): Promise<Checked> => {
    const { decision } = await decide(context, attempt)
    if (decision.outcome === 'refuse') return { outcome: 'locked', waitMs: decision.waitMs }
    if (decision.outcome === 'confirm' && deferredRank === null) return { outcome: 'busy' }
    return withAttempt(context, attempt, async (): Promise<Checked> => {
      const right = await matches(user?.passwordDigest ?? null, password)
      if (right && user && !user.disabled) return { outcome: 'right', user }
      await context.signInFailures.count(source, attempt.email)
      return { outcome: 'wrong' }
    })
  })
}

/** `rank`: how many addresses failed from this network. */
function askToConfirm<Result>(context: Context, given: Given<Result>, rank: number): AskedToConfirm {
  const { attempt, language } = given
  return {
    outcome: 'confirm',
    afterwards: async () => {
      const checked = await check(context, given, rank).catch(busy)
      // Counts as failed: otherwise a network could crowd out the others without ever spending its budget.
      if (checked.outcome === 'busy') await context.signInFailures.count(sourceOf(attempt), attempt.email)
      if (checked.outcome === 'right') await mailConfirmation(context, checked.user, language)
    },
  }
}

/** At most 3 mails per user and hour; the links in them stay valid that long. */
function mailConfirmation(context: Context, user: SignInUser, language: string): Promise<void> {
  return context.db.transaction(async (tx) => {
    if ((await lockRecentMails(tx, user.id, ['sign_in'])) >= 3) return
    const about = { accountId: user.accountId, userId: user.id, language: user.language ?? language }
    const linkId = await createLink(tx, 'sign_in', user)
    await insertMail(tx, { kind: 'sign_in', ...about, linkId, detail: {} })
  })
}

/** Recorded once an hour: for the network in its account, for the account, or for the whole service. */
function countSlowed(context: Context, attempt: SignInAttempt, spent: SpentBudget): void {
  const accountId = spent === 'service' ? null : attempt.accountId
  const network = spent === 'network' ? attempt.network : null
  context.refusals.count({ kind: 'session.slowed', accountId, subject: '', network, userId: null, reason: spent })
}
