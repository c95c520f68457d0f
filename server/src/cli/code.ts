/** `latchkey code show|grant|reject`: the user's part of the device flow, for operators, tests and the first try. */
import type { Command } from 'commander'
import { everyOption, readConfig } from '../config.ts'
import { isExpired } from '../core/device-code.ts'
import { formatScope } from '../core/scope.ts'
import { groupDigits } from '../core/user-code.ts'
import type { Context } from '../flows/context.ts'
import { grantDeviceCode, rejectDeviceCode, showDeviceCode } from '../flows/decide-device-code.ts'
import { enterUserCode } from '../flows/enter-code.ts'
import { findAccount } from '../store/accounts.ts'
import { findUser } from '../store/users.ts'
import { CommandRefused, type OutputOptions, print } from './output.ts'
import { type Wiring, withDatabase } from './wiring.ts'

type DecisionOptions = OutputOptions & { account: string; user: string }

export function addCodeCommands(program: Command, wiring: Wiring): void {
  const code = program.command('code').description('Codes that applications show to users.')

  code
    .command('show')
    .description('What became of a code.')
    .argument('<user-code>', 'the digits, in any grouping')
    .option('--json', 'print one JSON object')
    .action((typed: string, options: OutputOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const shown = await showDeviceCode({ db }, typed)
        if (!shown) throw new CommandRefused('There is no code with these digits, or it was mistyped.')
        const { code: found, now } = shown
        const status = found.status === 'pending' && isExpired(found, now) ? 'expired' : found.status
        const value = {
          user_code: found.userCode,
          status,
          application: found.applicationId,
          variant: found.variant,
          scope: formatScope(found.scopes),
          claimed_by: found.claimedBy,
          can_be_entered: shown.open,
          expires_in: Math.max(0, Math.floor((found.expiresAt - now) / 1000)),
        }
        const words = Object.entries(value).map(
          ([name, each]) => `${name.replaceAll('_', ' ').padEnd(16)}${each ?? '-'}`,
        )
        print(options, value, words.join('\n'))
      }),
    )

  decision(code, 'grant', 'Enter a code as a user and allow what it asks for.').action(
    (typed: string, options: DecisionOptions) =>
      asUser(wiring, options, async (context, userId) => {
        const entered = await enter(context, userId, typed)
        const result = await grantDeviceCode(context, userId, entered)
        if (result.outcome === 'granted') {
          const { granted, lacking } = result.consent
          const without =
            lacking.length > 0 ? ` ${options.user} lacks ${formatScope(lacking)}, so that is left out.` : ''
          const words = `Granted ${groupDigits(entered.userCode)}: ${formatScope(granted)}.${without}`
          return print(options, { outcome: 'granted', grant: result.grantId, granted, lacking }, words)
        }
        if (result.outcome === 'lacking') {
          throw new CommandRefused(
            `${options.user} lacks ${formatScope(result.consent.lacking)}: nothing can be granted.`,
          )
        }
        if (result.outcome === 'application_suspended') throw new CommandRefused('The application is suspended.')
        throw new CommandRefused('The code is no longer open.')
      }),
  )

  decision(code, 'reject', 'Enter a code as a user and refuse it.').action((typed: string, options: DecisionOptions) =>
    asUser(wiring, options, async (context, userId) => {
      const entered = await enter(context, userId, typed)
      const { outcome } = await rejectDeviceCode(context, userId, entered)
      if (outcome === 'not_open') throw new CommandRefused('The code is no longer open.')
      print(options, { outcome }, `Rejected ${groupDigits(entered.userCode)}.`)
    }),
  )
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

/** As if typed on the account's page. */
export async function enter(context: Context, userId: string, typed: string) {
  const entered = await enterUserCode(context, userId, typed)
  if (entered.outcome === 'claimed') return entered.code
  if (entered.outcome === 'not_recognised') {
    throw new CommandRefused(
      'This code is not recognised: unknown, expired, decided already, or entered by somebody else.',
    )
  }
  throw new CommandRefused('This is not a code: check the digits.')
}

export async function asUser(
  wiring: Wiring,
  options: Pick<DecisionOptions, 'account' | 'user'>,
  work: (context: Context, userId: string) => Promise<void>,
): Promise<void> {
  const context = await wiring.createContext({ ...readConfig(everyOption), logLevel: 'silent' })
  try {
    const account = await findAccount(context.db, options.account)
    if (!account) throw new CommandRefused(`There is no account "${options.account}".`)
    const user = await findUser(context.db, account.id, options.user)
    if (!user) throw new CommandRefused(`The account "${options.account}" has no user ${options.user}.`)
    await work(context, user.id)
  } finally {
    await wiring.closeContext(context)
  }
}
