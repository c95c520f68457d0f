/** One-time links, printed on the machine itself only: `latchkey user link`, `latchkey account create --administrator`. */
import type { Command } from 'commander'
import { createSetupLink, setUpAccount } from '../flows/accounts/set-up.ts'
import type { Context } from '../flows/context.ts'
import { type OutputOptions, print } from './client/output.ts'
import { unwrap } from './output.ts'
import { type Wiring, withContext } from './wiring.ts'

export async function createWithAdministrator({ db, config }: Context, options: OutputOptions): Promise<void> {
  const { slug, name, administrator } = options as { slug: string; name: string; administrator: string }
  const { id, userId, address: link } = unwrap(await setUpAccount(db, config, { slug, name, administrator }))
  const words = `Created the account ${slug} (${id}).\n\nOne-time link for ${administrator} to set a password, valid for 7 days:\n\n  ${link}\n`
  print(options, { id, slug, name, administrator: userId, link }, words)
}

export function defineLink(user: Command, wiring: Wiring): void {
  user
    .command('link')
    .description('Print a one-time link with which a user sets a password and signs in.')
    .requiredOption('--account <slug>', 'the account')
    .requiredOption('--user <email>', 'the user')
    .option('--reset', 'first remove the password, passkeys and second factor, and end all sessions')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & { account: string; user: string; reset?: boolean }) =>
      withContext(wiring, async ({ db, config }) => {
        const { account, user: email, reset = false } = options
        const { address: link } = unwrap(await createSetupLink(db, config, { account, email, reset }))
        const words = `One-time link for ${email}, valid for 7 days:\n\n  ${link}`
        print(options, { account, email, reset, link }, words)
      }),
    )
}
