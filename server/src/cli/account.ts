/** `latchkey account|role|scope create`: accounts, their roles, and the catalogue of scopes. */
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { parseScope } from '../core/grants/scope.ts'
import { createAccount, createRole, createScope } from '../flows/accounts/register.ts'
import { setUpAccount } from '../flows/accounts/set-up.ts'
import { type OutputOptions, print, unwrap } from './output.ts'
import { withDatabase } from './wiring.ts'

export function addAccountCommands(program: Command): void {
  program
    .command('account')
    .description('Accounts, each at its own subdomain.')
    .command('create')
    .description('Register an account. It starts with the role "administrator", which holds every scope.')
    .requiredOption('--slug <slug>', 'its subdomain, for example acme')
    .requiredOption('--name <name>', 'its name, as people know it')
    .option(
      '--administrator <address>',
      'the e-mail address of its first user; prints the link with which they come in',
    )
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & { slug: string; name: string; administrator?: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { slug, name, administrator } = options
        if (administrator === undefined) {
          const { id } = unwrap(await createAccount(db, { slug, name }))
          return print(options, { id, slug, name }, `Created the account ${slug} (${id}).`)
        }
        const config = readConfig(['keys', 'publicUrl'])
        const { id, userId, address: link } = unwrap(await setUpAccount(db, config, { slug, name, administrator }))
        const words = `Created the account ${slug} (${id}).\n\n${administrator} comes in here, once, within 7 days, and chooses a password:\n\n  ${link}\n`
        print(options, { id, slug, name, administrator: userId, link }, words)
      }),
    )

  program
    .command('role')
    .description('Roles of an account: named sets of scopes.')
    .command('create')
    .description('Add a role to an account.')
    .requiredOption('--account <slug>', 'the account')
    .requiredOption('--name <name>', 'the name of the role')
    .option('--scopes <list>', 'what it holds, comma-separated', '')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & { account: string; name: string; scopes: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { account, name } = options
        const scopes = parseScope(options.scopes)
        const { id } = unwrap(await createRole(db, { account, name, scopes }))
        print(options, { id, account, name, scopes }, `Created the role ${name} (${id}) in ${account}.`)
      }),
    )

  program
    .command('scope')
    .description('The catalogue of what can be granted.')
    .command('create')
    .description('Add a scope to the catalogue.')
    .argument('<name>', 'for example orders:read')
    .requiredOption('--title <words>', 'what it allows, in words for the person who decides')
    .option('--dangerous', 'mark it where it is asked for, and ask for a fresh sign-in')
    .option('--not-by-device', 'never grant it by a typed code')
    .option('--json', 'print one JSON object')
    .action((name: string, options: OutputOptions & { title: string; dangerous?: boolean; notByDevice?: boolean }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { title, dangerous = false } = options
        const deviceFlow = !options.notByDevice
        unwrap(await createScope(db, { name, title, dangerous, deviceFlow }))
        print(options, { name, title, dangerous, device_flow: deviceFlow }, `Created the scope ${name}.`)
      }),
    )
}
