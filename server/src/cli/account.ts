/** `latchkey account|role|user|scope create`: who may decide, and what can be granted. */
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { parseScope } from '../core/scope.ts'
import { createAccount, createRole, createScope, createUser } from '../flows/register.ts'
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
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & { slug: string; name: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { slug, name } = options
        const { id } = unwrap(await createAccount(db, { slug, name }))
        print(options, { id, slug, name }, `Created the account ${slug} (${id}).`)
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
    .command('user')
    .description('Users of an account.')
    .command('create')
    .description('Add a user to an account.')
    .requiredOption('--account <slug>', 'the account')
    .requiredOption('--email <address>', 'the address the user signs in with')
    .requiredOption('--role <name>', 'a role of the account; may be given several times', collect)
    .option('--password-stdin', 'read the password from standard input, so that it is in no argument list')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & { account: string; email: string; role: string[]; passwordStdin?: boolean }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { account, email, role: roles } = options
        const password = options.passwordStdin ? (await text(process.stdin)).replace(/\r?\n$/, '') : null
        const { id } = unwrap(await createUser(db, { account, email, roles, password }))
        print(options, { id, account, email, roles }, `Created the user ${email} (${id}) in ${account}.`)
      }),
    )

  program
    .command('scope')
    .description('The catalogue of what can be granted.')
    .command('create')
    .description('Add a scope to the catalogue.')
    .argument('<name>', 'for example orders:read')
    .requiredOption('--title <words>', 'what it allows, in words for the person who decides')
    .option('--json', 'print one JSON object')
    .action((name: string, options: OutputOptions & { title: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        unwrap(await createScope(db, { name, title: options.title }))
        print(options, { name, title: options.title }, `Created the scope ${name}.`)
      }),
    )
}

function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value]
}
