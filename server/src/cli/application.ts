/** `latchkey app create|set-publisher|suspend|restore|rotate-secret`. */
import { type Command, Option } from 'commander'
import { readConfig } from '../config.ts'
import { type PublisherStanding, publisherStandings } from '../core/application.ts'
import { parseScope } from '../core/scope.ts'
import {
  createApplication,
  restoreApplication,
  rotateSecret,
  setApplicationPublisher,
  suspendApplication,
} from '../flows/manage-application.ts'
import { type OutputOptions, print, unwrap } from './output.ts'
import { withDatabase } from './wiring.ts'

type CreateOptions = OutputOptions & {
  account: string
  name: string
  scopes: string
  defaultScopes?: string
  requiredScopes: string
  deviceFlow?: boolean
}

export function addApplicationCommands(program: Command): void {
  const app = program.command('app').description('Applications of third parties.')

  app
    .command('create')
    .description('Register an application and print its id and its secret. The secret is shown this once.')
    .requiredOption('--account <slug>', 'the account that owns it')
    .requiredOption('--name <name>', 'its name, as users will read it')
    .requiredOption('--scopes <list>', 'all it may ever ask for, comma-separated')
    .option('--default-scopes <list>', 'what it asks for when it names nothing (default: all of --scopes)')
    .option('--required-scopes <list>', 'what it cannot work without', '')
    .option('--device-flow', 'let it use the device flow')
    .option('--json', 'print one JSON object')
    .action((options: CreateOptions) => {
      const { databaseUrl, keys } = readConfig(['databaseUrl', 'keys'])
      return withDatabase(databaseUrl, async (db) => {
        const { account, name } = options
        const allowedScopes = parseScope(options.scopes)
        const defaultScopes = options.defaultScopes === undefined ? allowedScopes : parseScope(options.defaultScopes)
        const requiredScopes = parseScope(options.requiredScopes)
        const deviceFlow = options.deviceFlow ?? false
        const registration = { account, name, allowedScopes, defaultScopes, requiredScopes, deviceFlow }
        const { id, secret } = unwrap(await createApplication(db, keys, registration))
        print(
          options,
          { id, secret, account, name, scopes: allowedScopes, default_scopes: defaultScopes, device_flow: deviceFlow },
          `Created the application ${name}.\n\n  id      ${id}\n  secret  ${secret}\n\nKeep the secret now: it cannot be shown again.`,
        )
      })
    })

  app
    .command('rotate-secret')
    .description('Add a secret and print it. Up to three live at once; the oldest ends when a fourth is made.')
    .argument('<id>', 'the application, app_…')
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions) => {
      const { databaseUrl, keys } = readConfig(['databaseUrl', 'keys'])
      return withDatabase(databaseUrl, async (db) => {
        const { secret, revokedSecrets } = unwrap(await rotateSecret(db, keys, id))
        const ended = revokedSecrets.length > 0 ? '\nThe oldest secret no longer works.' : ''
        print(options, { id, secret, revoked_secrets: revokedSecrets }, `New secret of ${id}:\n\n  ${secret}\n${ended}`)
      })
    })

  app
    .command('set-publisher')
    .description('Say whom an application comes from, as users will read it when they decide.')
    .argument('<id>', 'the application, app_…')
    .option('--name <domain>', 'the domain of its publisher, for example acme.example')
    .addOption(
      new Option('--standing <standing>', 'own: this service itself; verified: you checked that the domain is theirs')
        .choices(publisherStandings)
        .makeOptionMandatory(),
    )
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions & { name?: string; standing: PublisherStanding }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { name = null, standing } = options
        unwrap(await setApplicationPublisher(db, id, { name, standing }))
        const publisher = name === null ? standing : `${name}, ${standing}`
        print(options, { id, publisher: name, standing }, `The publisher of ${id} is now: ${publisher}.`)
      }),
    )

  app
    .command('suspend')
    .description('Refuse new codes and new grants. Running codes and issued credentials go on.')
    .argument('<id>', 'the application, app_…')
    .option('--reason <words>', 'why, for the audit log', 'by operator')
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions & { reason: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        unwrap(await suspendApplication(db, id, options.reason))
        print(options, { id, suspended: true }, `Suspended ${id}. Every server knows within two seconds.`)
      }),
    )

  app
    .command('restore')
    .description('Take a suspension back.')
    .argument('<id>', 'the application, app_…')
    .option('--reason <words>', 'why, for the audit log', 'by operator')
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions & { reason: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        unwrap(await restoreApplication(db, id, options.reason))
        print(options, { id, suspended: false }, `Restored ${id}. Every server knows within two seconds.`)
      }),
    )
}
