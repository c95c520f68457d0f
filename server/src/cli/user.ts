/** `latchkey user create|link|enable`: adds users to an account, prints one-time links for users who cannot sign in, enables users. */
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { enableByCommandLine } from '../flows/accounts/enable-user.ts'
import { createUser } from '../flows/accounts/register.ts'
import { createSetupLink } from '../flows/accounts/set-up.ts'
import { type OutputOptions, print } from './client/output.ts'
import { unwrap } from './output.ts'
import { withDatabase } from './wiring.ts'

export function defineUser(user: Command): void {
  user
    .command('create')
    .description('Add a user to an account.')
    .requiredOption('--account <slug>', 'the account')
    .requiredOption('--email <address>', 'e-mail address that the user signs in with')
    .requiredOption('--role <name>', 'role of the account; may be repeated', collect)
    .option('--password-stdin', 'read the password from standard input')
    .option('--external-id <id>', 'id of the user at your own service, if users sign in there (SIGN_IN_URL)')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & CreateOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { operatorAccount, signInUrl } = readConfig(['operatorAccount', 'signInUrl'])
        const { account, email, role: roles, externalId } = options
        const password = options.passwordStdin ? (await text(process.stdin)).replace(/\r?\n$/, '') : null
        const user = { account, email, roles, password, externalId }
        const { id } = unwrap(await createUser(db, user, operatorAccount, signInUrl))
        print(options, { id, account, email, roles }, `Created the user ${email} (${id}) in ${account}.`)
      }),
    )

  user
    .command('link')
    .description('Print a one-time link with which a user sets a password and signs in.')
    .requiredOption('--account <slug>', 'the account')
    .requiredOption('--user <email>', 'the user')
    .option('--reset', 'first remove the password, passkeys and second factor, and end all sessions')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & { account: string; user: string; reset?: boolean }) => {
      const { databaseUrl, ...config } = readConfig([
        'databaseUrl',
        'keys',
        'publicUrl',
        'operatorAccount',
        'signInUrl',
      ])
      return withDatabase(databaseUrl, async (db) => {
        const { account, user: email, reset = false } = options
        const { address } = unwrap(await createSetupLink(db, config, { account, email, reset }))
        print(
          options,
          { account, email, reset, link: address },
          `One-time link for ${email}, valid for 7 days:\n\n  ${address}`,
        )
      })
    })

  user
    .command('enable')
    .description('Let a disabled user sign in again.')
    .requiredOption('--account <slug>', 'the account')
    .requiredOption('--user <email>', 'the user')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & { account: string; user: string }) => {
      const { databaseUrl, operatorAccount } = readConfig(['databaseUrl', 'operatorAccount'])
      return withDatabase(databaseUrl, async (db) => {
        const { account, user: email } = options
        const { id, needsReset } = unwrap(await enableByCommandLine(db, operatorAccount, { account, email }))
        const words = `Enabled the user ${email} (${id}) of ${account}.`
        const hint = ' The key of their authenticator was retired: "latchkey user link --reset" lets them sign in.'
        print(options, { id, account, email, needsReset }, needsReset ? `${words}${hint}` : words)
      })
    })
}

type CreateOptions = {
  account: string
  email: string
  role: string[]
  passwordStdin?: boolean
  externalId?: string
}

function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value]
}
