/** `latchkey app set-publisher|suspend|restore`, which only operators may; proposals are in proposal.ts. */
import { type Command, Option } from 'commander'
import { readConfig } from '../config.ts'
import { type PublisherStatus, publisherStatuses } from '../core/applications/application.ts'
import { restoreApplication, setApplicationPublisher, suspendApplication } from '../flows/applications/manage.ts'
import { type OutputOptions, print } from './client/output.ts'
import { unwrap } from './output.ts'
import { addProposalCommands } from './proposal.ts'
import { withDatabase } from './wiring.ts'

export function defineOperatorVerbs(app: Command): void {
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
