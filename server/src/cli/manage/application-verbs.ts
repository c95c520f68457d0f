/** `latchkey app rotate-secret|set-redirects`. */
import type { Command } from 'commander'
import { MAX_LIVE_SECRETS } from '../../core/applications/application.ts'
import { CommandRefused, print } from '../client/output.ts'
import type { Wiring } from '../wiring.ts'
import { addConnectionOptions, withManagement } from './connection.ts'
import type { ManagementClient } from './management-client.ts'
import { NOUNS } from './nouns.ts'
import { type NounOptions, onOne } from './verbs.ts'

export function defineApplicationVerbs(app: Command, wiring: Wiring): void {
  const verb = (name: string, about: string) =>
    addConnectionOptions(
      app
        .command(name)
        .description(about)
        .argument('<application>', NOUNS.app.argument[1])
        .option('--account <slug>', 'the account; may be left out with an id on the machine itself'),
    )
  const onApplication = (one: string, options: NounOptions, work: Parameters<typeof onOne>[4]) =>
    withManagement(wiring, options, async (client) => {
      const account = options.account ?? (await findAccountOf(client, one))
      await onOne(client, NOUNS.app, one, { ...options, account }, work)
    })

  verb(
    'rotate-secret',
    'Create an additional secret and print it. Up to three are valid at once; creating a fourth revokes the oldest.',
  ).action((one: string, options: NounOptions) =>
    onApplication(one, options, async ({ client, path, id }) => {
      const { secrets } = (await client.send('GET', path)) as { secrets: readonly { id: string }[] }
      // Newest first.
      const oldest = secrets.slice(MAX_LIVE_SECRETS - 1).map((each) => each.id)
      for (const each of oldest) await client.send('DELETE', `${path}/secrets/${each}`)
      const { secret } = await client.send('POST', `${path}/secrets`, {})
      const ended = oldest.length > 0 ? '\nThe oldest secret no longer works.' : ''
      print(options, { id, secret, revoked_secrets: oldest }, `New secret of ${id}:\n\n  ${secret}\n${ended}`)
    }),
  )

  verb('set-redirects', 'Replace the redirect URIs of an application. They are compared character by character.')
    .argument('[addresses...]', 'https, or http on 127.0.0.1, [::1] and localhost; none disables the dialog')
    .action((one: string, addresses: string[], options: NounOptions) =>
      onApplication(one, options, async ({ client, path, id }) => {
        await client.send('PATCH', path, { redirect_uris: addresses })
        const list = addresses.length === 0 ? ' none; the dialog is disabled.' : `\n\n  ${addresses.join('\n  ')}`
        print(options, { id, redirect_uris: addresses }, `Redirect URIs of ${id}:${list}`)
      }),
    )
}

/** In the API, the account is a part of the path. */
async function findAccountOf({ context }: ManagementClient, id: string): Promise<string> {
  if (!context) throw new CommandRefused('Name the account with --account.')
  const { findApplication } = await import('../../store/applications/applications.ts')
  const application = await findApplication(context.db, id)
  if (!application) throw new CommandRefused(`There is no application "${id}".`)
  return application.accountId
}
