/** `latchkey app create|set-publisher|set-redirects|suspend|restore|rotate-secret`; proposals are in proposal.ts. */
import { type Command, Option } from 'commander'
import { readConfig } from '../config.ts'
import { type PublisherStatus, publisherStatuses } from '../core/applications/application.ts'
import { parseScope } from '../core/grants/scope.ts'
import {
  createApplication,
  restoreApplication,
  rotateSecret,
  setApplicationPublisher,
  setApplicationRedirects,
  suspendApplication,
} from '../flows/applications/manage.ts'
import { type OutputOptions, print, unwrap } from './output.ts'
import { addProposalCommands } from './proposal.ts'
import { withDatabase } from './wiring.ts'

type CreateOptions = OutputOptions & {
  account: string
  name: string
  scopes: string
  defaultScopes?: string
  requiredScopes: string
  deviceFlow?: boolean
  redirectUri: string[]
  public?: boolean
  requirePkce?: boolean
  resourceServer?: boolean
}

/** Collects the values of an option that may be given several times. */
const gather = (value: string, before: string[]) => [...before, value]

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
    .option(
      '--redirect-uri <address>',
      'let it open the dialog and return there; may be given several times',
      gather,
      [],
    )
    .option('--public', 'it cannot keep a secret (a page, a program on other people’s machines) and gets none')
    .option('--require-pkce', 'refuse to open its dialog without a code challenge; always so for a public application')
    .option('--resource-server', 'let it ask about the credentials of every application')
    .option('--json', 'print one JSON object')
    .action((options: CreateOptions) => {
      const { databaseUrl, keys } = readConfig(['databaseUrl', 'keys'])
      return withDatabase(databaseUrl, async (db) => {
        const { account, name } = options
        const allowedScopes = parseScope(options.scopes)
        const defaultScopes = options.defaultScopes === undefined ? allowedScopes : parseScope(options.defaultScopes)
        const requiredScopes = parseScope(options.requiredScopes)
        const deviceFlow = options.deviceFlow ?? false
        const { redirectUri: redirectUris } = options
        const { id, secret } = unwrap(
          await createApplication(db, keys, {
            account,
            name,
            allowedScopes,
            defaultScopes,
            requiredScopes,
            deviceFlow,
            redirectUris,
            public: options.public ?? false,
            pkceRequired: options.requirePkce ?? false,
            resourceServer: options.resourceServer ?? false,
          }),
        )
        const created = { id, secret, account, name, scopes: allowedScopes, default_scopes: defaultScopes }
        const shown =
          secret === null
            ? `  id      ${id}\n\nIt is public: it has no secret, and proves with PKCE that an exchange is its own.`
            : `  id      ${id}\n  secret  ${secret}\n\nKeep the secret now: it cannot be shown again.`
        print(
          options,
          { ...created, device_flow: deviceFlow, redirect_uris: redirectUris },
          `Created the application ${name}.\n\n${shown}`,
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
      new Option('--status <status>', 'own: this service itself; verified: you checked that the domain is theirs')
        .choices(publisherStatuses)
        .makeOptionMandatory(),
    )
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions & { name?: string; status: PublisherStatus }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { name = null, status } = options
        unwrap(await setApplicationPublisher(db, id, { name, status }))
        const publisher = name === null ? status : `${name}, ${status}`
        print(options, { id, publisher: name, status }, `The publisher of ${id} is now: ${publisher}.`)
      }),
    )

  app
    .command('set-redirects')
    .description('Say where the dialog may return to: these addresses, to the character, and no others.')
    .argument('<id>', 'the application, app_…')
    .argument('[addresses...]', 'https, or http on 127.0.0.1, [::1] and localhost; none: no dialog')
    .option('--json', 'print one JSON object')
    .action((id: string, addresses: string[], options: OutputOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        unwrap(await setApplicationRedirects(db, id, addresses))
        const list = addresses.length === 0 ? ' nowhere: it has no dialog.' : `\n\n  ${addresses.join('\n  ')}`
        print(options, { id, redirect_uris: addresses }, `The dialog of ${id} now returns to${list}`)
      }),
    )

  app
    .command('suspend')
    .description('Refuse new codes, dialogs and grants. What was granted before goes on, unless --revoke.')
    .argument('<id>', 'the application, app_…')
    .option('--revoke', 'also end everything that users granted to it; this cannot be taken back')
    .option('--reason <words>', 'why, for the audit log, where its owner reads it', 'by operator')
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions & { reason: string; revoke?: boolean }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { revoked } = unwrap(await suspendApplication(db, id, options.reason, options.revoke ?? false))
        const ended = options.revoke ? ` and ended its ${revoked} grants` : ''
        print(
          options,
          { id, suspended: true, revoked },
          `Suspended ${id}${ended}. Every server knows within two seconds.`,
        )
      }),
    )

  app
    .command('restore')
    .description('Take a suspension back.')
    .argument('<id>', 'the application, app_…')
    .option('--reason <words>', 'why, for the audit log, where its owner reads it', 'by operator')
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions & { reason: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        unwrap(await restoreApplication(db, id, options.reason))
        print(options, { id, suspended: false }, `Restored ${id}. Every server knows within two seconds.`)
      }),
    )

  addProposalCommands(app)
}
