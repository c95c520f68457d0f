/** `latchkey user disable|enable`. */
import type { Command } from 'commander'
import { print } from '../client/output.ts'
import type { Wiring } from '../wiring.ts'
import { addConnectionOptions, withManagement } from './connection.ts'
import type { Resource } from './management-client.ts'
import { NOUNS } from './nouns.ts'
import { type NounOptions, onOne } from './verbs.ts'

export function defineUserVerbs(user: Command, wiring: Wiring): void {
  const change = (options: NounOptions, one: string, members: Resource, show: (shown: Resource) => void) =>
    withManagement(wiring, options, (client) =>
      onOne(client, NOUNS.user, one, options, async ({ path }) => show(await client.send('PATCH', path, members))),
    )
  const verb = (name: string, about: string) =>
    addConnectionOptions(user.command(name).description(about).requiredOption('--account <slug>', 'the account'))

  verb('disable', 'Disable a user: end all sessions, refuse all credentials.')
    .argument('<user>', NOUNS.user.argument[1])
    .action((one: string, options: NounOptions) =>
      change(options, one, { disabled: true }, (shown) =>
        print(options, shown, `Disabled the user ${shown.email} (${shown.id}). "latchkey user enable" undoes it.`),
      ),
    )

  verb('enable', 'Let a disabled user sign in again.')
    .requiredOption('--user <email>', 'the user')
    .action((options: NounOptions & { user: string }) =>
      change(options, options.user, { disabled: false }, (shown) => {
        const words = `Enabled the user ${shown.email} (${shown.id}) of ${options.account}.`
        const hint = ' They have no way to sign in yet: "latchkey user link" prints a link.'
        print(options, { ...shown, account: options.account }, shown.status === 'invited' ? `${words}${hint}` : words)
      }),
    )
}
