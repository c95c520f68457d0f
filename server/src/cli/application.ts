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
import { type OutputOptions, print } from './client/output.ts'
import { unwrap } from './output.ts'
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

export function defineApplication(app: Command): void {
  app
    .command('create')
    .description('Register an application and print its id and secret. The secret is shown only once.')
    .requiredOption('--account <slug>', 'the account that owns it')
    .requiredOption('--name <name>', 'display name, shown to users')
    .requiredOption('--scopes <list>', 'scopes that the application may request, comma-separated')
    .option('--default-scopes <list>', 'scopes of a request without a scope parameter (default: all of --scopes)')
    .option('--required-scopes <list>', 'scopes that every grant must include', '')
    .option('--device-flow', 'enable the device flow')
    .option('--redirect-uri <address>', 'enable the dialog with this redirect URI; may be repeated', gather, [])
    .option('--public', 'public client without a secret, such as a web page or a desktop program')
    .option('--require-pkce', 'require PKCE in the dialog; always required for public applications')
    .option('--resource-server', 'allow introspection of the credentials of every application')
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
            ? `  id      ${id}\n\nIt is a public application: it has no secret and uses PKCE.`
            : `  id      ${id}\n  secret  ${secret}\n\nStore the secret now: it cannot be shown again.`
        print(
          options,
          { ...created, device_flow: deviceFlow, redirect_uris: redirectUris },
          `Created the application ${name}.\n\n${shown}`,
        )
      })
    })

  app
    .command('rotate-secret')
    .description(
      'Create an additional secret and print it. Up to three are valid at once; creating a fourth revokes the oldest.',
    )
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
    .description('Set the publisher of an application, as shown on the consent page.')
    .argument('<id>', 'the application, app_…')
    .option('--name <domain>', 'domain of the publisher, for example acme.example')
    .addOption(
      new Option(
        '--status <status>',
        'own: published by this service; verified: you checked that the publisher owns the domain',
      )
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
    .description('Replace the redirect URIs of an application. They are compared character by character.')
    .argument('<id>', 'the application, app_…')
    .argument('[addresses...]', 'https, or http on 127.0.0.1, [::1] and localhost; none disables the dialog')
    .option('--json', 'print one JSON object')
    .action((id: string, addresses: string[], options: OutputOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        unwrap(await setApplicationRedirects(db, id, addresses))
        const list = addresses.length === 0 ? ' none; the dialog is disabled.' : `\n\n  ${addresses.join('\n  ')}`
        print(options, { id, redirect_uris: addresses }, `Redirect URIs of ${id}:${list}`)
      }),
    )

  app
    .command('suspend')
    .description(
      'Suspend an application: reject new codes, dialogs and grants. Existing grants stay valid unless --revoke is given.',
    )
    .argument('<id>', 'the application, app_…')
    .option('--revoke', 'also revoke all grants of the application; cannot be undone')
    .option('--reason <words>', 'reason for the audit log; visible to the owner of the application', 'by operator')
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions & { reason: string; revoke?: boolean }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { revoked } = unwrap(await suspendApplication(db, id, options.reason, options.revoke ?? false))
        const ended = options.revoke ? ` and revoked ${revoked} grants` : ''
        print(
          options,
          { id, suspended: true, revoked },
          `Suspended ${id}${ended}. It takes effect in every process within two seconds.`,
        )
      }),
    )

  app
    .command('restore')
    .description('Lift the suspension of an application.')
    .argument('<id>', 'the application, app_…')
    .option('--reason <words>', 'reason for the audit log; visible to the owner of the application', 'by operator')
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions & { reason: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        unwrap(await restoreApplication(db, id, options.reason))
        print(options, { id, suspended: false }, `Restored ${id}. It takes effect in every process within two seconds.`)
      }),
    )

  addProposalCommands(app)
}
