/** `latchkey code show|grant|reject`: the user's part of the device flow, for operators, tests and first trials. */
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { MAX_OUTSIDE_GRANTS } from '../core/applications/vetting.ts'
import { isClosed, isExpired } from '../core/device/code.ts'
import { groupDigits } from '../core/device/user-code.ts'
import { formatScope } from '../core/grants/scope.ts'
import type { Context } from '../flows/context.ts'
import { grantDeviceCode, rejectDeviceCode, type ShownCode, showDeviceCode } from '../flows/device/decide.ts'
import { enterUserCode } from '../flows/device/enter-code.ts'
import { foreseeDecision } from '../flows/device/foresee-decision.ts'
import { findAccount } from '../store/accounts/accounts.ts'
import { findUser } from '../store/accounts/users.ts'
import type { Queryable } from '../store/postgres/postgres.ts'
import { CommandRefused, type OutputOptions, print } from './client/output.ts'
import { type Wiring, withContext, withDatabase } from './wiring.ts'

const PREVENTED = {
  suspended: 'The application is suspended.',
  too_many_grants: `No operator has approved the application yet, and users of other accounts have granted it ${MAX_OUTSIDE_GRANTS} times, which is the limit until then.`,
  dangerous_scope:
    'No operator has approved the application yet, so users of other accounts cannot grant it a dangerous scope.',
} as const

type Who = { account: string; user: string }
type DecisionOptions = OutputOptions & Who

export function defineCode(code: Command, wiring: Wiring): void {
  code
    .command('show')
    .description(
      'Show the state of a code. With --account and --user, also show what would happen if that user entered it now.',
    )
    .argument('<user-code>', 'the digits, in any grouping')
    .option('--account <slug>', 'the account of the user')
    .option('--user <email>', 'the user who wants to enter the code')
    .option('--json', 'print one JSON object')
    .action((typed: string, options: OutputOptions & Partial<Who>) => {
      const { databaseUrl, keys } = readConfig(['databaseUrl', 'keys'])
      return withDatabase(databaseUrl, async (db) => {
        if ((options.account === undefined) !== (options.user === undefined)) {
          throw new CommandRefused('--account and --user must be given together.')
        }
        const shown = await showDeviceCode(db, keys, typed)
        if (!shown) throw new CommandRefused('There is no code with these digits.')
        const { code: found, now } = shown
        const foreseen = await foresee(db, shown, options)
        const over = isExpired(found, now) || isClosed(found)
        const status = found.status === 'pending' && over ? 'expired' : found.status
        const value = {
          user_code: shown.userCode,
          status,
          application: found.applicationId,
          variant: found.variant,
          scope: formatScope(found.scopes),
          claimed_by: found.claimedBy,
          can_be_entered: shown.open,
          expires_in: Math.max(0, Math.floor((found.expiresAt - now) / 1000)),
          ...foreseen,
        }
        const words = Object.entries(value).map(
          ([name, each]) => `${name.replaceAll('_', ' ').padEnd(16)}${each === null || each === '' ? '-' : each}`,
        )
        print(options, value, words.join('\n'))
      })
    })

  decision(code, 'grant', 'Enter a code as a user and grant the request.')
    .option('--take-over', 'continue instead of another user of the account who has entered the code; once per code')
    .action((typed: string, options: DecisionOptions & { takeOver?: true }) =>
      asUser(wiring, options, async (context, userId) => {
        const entered = await enter(context, userId, typed, options.takeOver)
        const result = await grantDeviceCode(context, userId, entered.code)
        if (result.outcome === 'granted') {
          const { granted, lacking } = result.consent
          const without =
            lacking.length > 0 ? ` Not granted, because ${options.user} lacks it: ${formatScope(lacking)}.` : ''
          const words = `Granted ${groupDigits(entered.userCode)}: ${formatScope(granted)}.${without}`
          return print(options, { outcome: 'granted', grant: result.grantId, granted, lacking }, words)
        }
        if (result.outcome === 'prevented') {
          throw new CommandRefused(
            result.by === 'lacking'
              ? `${options.user} lacks ${formatScope(result.consent.lacking)}: nothing can be granted.`
              : PREVENTED[result.by],
          )
        }
        throw new CommandRefused('The code is no longer open.')
      }),
    )

  decision(code, 'reject', 'Enter a code as a user and reject the request.').action(
    (typed: string, options: DecisionOptions) =>
      asUser(wiring, options, async (context, userId) => {
        const entered = await enter(context, userId, typed)
        const { outcome } = await rejectDeviceCode(context, userId, entered.code)
        if (outcome === 'not_open') throw new CommandRefused('The code is no longer open.')
        print(options, { outcome }, `Rejected ${groupDigits(entered.userCode)}.`)
      }),
  )
}

async function foresee(db: Queryable, shown: ShownCode, { account, user }: Partial<Who>) {
  if (account === undefined || user === undefined) return {}
  const config = readConfig(['keys', 'signInSubjects'])
  const foreseen = await foreseeDecision({ db, config }, shown, await findUserId(db, { account, user }))
  return (
    foreseen && {
      entry: foreseen.entry,
      would_grant: formatScope(foreseen.granted),
      lacks: formatScope(foreseen.lacking),
      can_allow: ['accepted', 'moves'].includes(foreseen.entry) && foreseen.prevented === null,
      prevented_by: foreseen.prevented,
    }
  )
}

async function findUserId(db: Queryable, { account: slug, user: email }: Who): Promise<string> {
  const account = await findAccount(db, slug)
  if (!account) throw new CommandRefused(`There is no account "${slug}".`)
  const user = await findUser(db, account.id, email)
  if (!user) throw new CommandRefused(`The account "${slug}" has no user ${email}.`)
  return user.id
}

function decision(code: Command, verb: string, description: string): Command {
  return code
    .command(verb)
    .description(description)
    .argument('<user-code>', 'the digits, in any grouping')
    .requiredOption('--account <slug>', 'the account')
    .requiredOption('--user <email>', 'the user who decides')
    .option('--json', 'print one JSON object')
}

/** Enters a user code through the same flow as the account's page. */
export async function enter(context: Context, userId: string, typed: string, takeOver = false) {
  const entered = await enterUserCode(context, userId, typed, { kind: 'command_line' }, takeOver)
  if (entered.outcome === 'claimed') return entered
  if (entered.outcome === 'taken') {
    const how = entered.offer
      ? 'To continue instead of them: code grant --take-over.'
      : 'A code is taken over once only.'
    throw new CommandRefused(`Another user of this account has entered this code and has not decided yet. ${how}`)
  }
  if (entered.outcome === 'closed') {
    throw new CommandRefused('This code was closed: users of two accounts entered it. Ask the device for a new one.')
  }
  if (entered.outcome === 'not_recognised') {
    throw new CommandRefused(
      'This code is not recognised: it is unknown, expired, already decided, entered in another account, or barred by the policy of this account; or the user is disabled.',
    )
  }
  throw new CommandRefused('This is not a valid code: check the digits.')
}

export async function asUser(
  wiring: Wiring,
  options: Who,
  work: (context: Context, userId: string) => Promise<void>,
): Promise<void> {
  await withContext(wiring, async (context) => work(context, await findUserId(context.db, options)))
}
