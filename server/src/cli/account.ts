/** `latchkey account|role|scope create`: accounts, their roles, and the catalogue of scopes. */
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { parseScope } from '../core/grants/scope.ts'
import { createAccount, createRole, createScope } from '../flows/accounts/register.ts'
import { setUpAccount } from '../flows/accounts/set-up.ts'
import { type OutputOptions, print } from './client/output.ts'
import { unwrap } from './output.ts'
import { withDatabase } from './wiring.ts'

export function defineAccount(account: Command): void {
  account
    .command('create')
    .description('Register an account. It starts with the role "administrator", which holds every scope.')
    .requiredOption('--slug <slug>', 'subdomain, for example acme')
    .requiredOption('--name <name>', 'display name')
    .option('--administrator <address>', 'e-mail address of the first administrator; prints a one-time sign-in link')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & { slug: string; name: string; administrator?: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { slug, name, administrator } = options
        if (administrator === undefined) {
          const { id } = unwrap(await createAccount(db, { slug, name }))
          return print(options, { id, slug, name }, `Created the account ${slug} (${id}).`)
        }
        const config = readConfig(['keys', 'publicUrl', 'operatorAccount', 'signInUrl'])
        const { id, userId, address: link } = unwrap(await setUpAccount(db, config, { slug, name, administrator }))
        const words = `Created the account ${slug} (${id}).\n\nOne-time link for ${administrator} to set a password, valid for 7 days:\n\n  ${link}\n`
        print(options, { id, slug, name, administrator: userId, link }, words)
      }),
    )
}

export function defineRole(role: Command): void {
  role
    .command('create')
    .description('Add a role to an account.')
    .requiredOption('--account <slug>', 'the account')
    .requiredOption('--name <name>', 'the name of the role')
    .option('--scopes <list>', 'scopes of the role, comma-separated', '')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & { account: string; name: string; scopes: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { account, name } = options
        const scopes = parseScope(options.scopes)
        const { id } = unwrap(await createRole(db, { account, name, scopes }))
        print(options, { id, account, name, scopes }, `Created the role ${name} (${id}) in ${account}.`)
      }),
    )
}

export function defineScope(scope: Command): void {
  scope
    .command('create')
    .description('Add a scope to the catalogue.')
    .argument('<name>', 'for example orders:read')
    .requiredOption('--title <words>', 'what the scope allows, as shown on the consent page')
    .option('--dangerous', 'highlight it on the consent page and require a recent sign-in')
    .option('--not-by-device', 'do not allow it in the device flow')
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
