/**
 * `latchkey account|scope|role|user|app list|show|edit|…`, over the management API. The commands for creating and for
 * recovery use the database instead (cli/).
 */
import type { Command } from 'commander'
import { parseScope } from '../../core/grants/scope.ts'
import { CommandRefused, print } from '../client/output.ts'
import { addConnectionOptions, type ConnectionOptions, connect } from './connection.ts'
import type { ManagementClient, Resource } from './management-client.ts'
import { formatList, formatResource } from './table.ts'

type Options = ConnectionOptions & { readonly account?: string; readonly yes?: boolean }

/** An option of `edit`, and the member that it changes. */
type Edit = readonly [flags: string, member: string, about: string, read?: (text: string) => unknown]

type Noun = {
  readonly title: string
  /** The argument that names one. */
  readonly argument: readonly [name: string, about: string]
  readonly path: string
  readonly columns: readonly string[]
  readonly edits: readonly Edit[]
  /** Member that the argument may name besides the id. */
  readonly named: string
  /** The list has a filter for it. */
  readonly filtered?: true
  readonly erasure?: { readonly verb: 'delete' | 'erase' | 'close'; readonly about: string; readonly final?: string }
}

const yesOrNo = (text: string) => {
  if (text !== 'yes' && text !== 'no') throw new CommandRefused('Write yes or no.')
  return text === 'yes'
}
const orNone = (text: string) => (text === '' ? null : text)

const NOUNS: Readonly<Record<string, Noun>> = {
  account: {
    title: 'account',
    argument: ['account', 'its slug or id'],
    path: '/accounts',
    columns: ['slug', 'name', 'external_id', 'id'],
    named: 'slug',
    edits: [
      ['--name <name>', 'name', 'display name'],
      ['--external-id <id>', 'external_id', 'id at your own service; empty: none', orNone],
    ],
    erasure: {
      verb: 'close',
      about: 'Close an account: end all that it has and erase its users, except the audit log.',
      final:
        'These will end, everywhere and for good: every grant of its users, their sessions and links, its management keys, its identity provider, and its applications with all grants to them. Its users, roles and branding will be deleted. The audit log keeps its events: ids, what was done, and the networks and browsers of sign-ins, but no name and no address. The slug stays taken.',
    },
  },
  scope: {
    title: 'scope',
    argument: ['scope', 'its name'],
    path: '/scopes',
    columns: ['name', 'title', 'dangerous', 'device_flow'],
    named: 'name',
    edits: [['--title <words>', 'title', 'what it allows, as shown on the consent page']],
  },
  role: {
    title: 'role',
    argument: ['role', 'its name or id'],
    path: '/roles',
    columns: ['name', 'scopes', 'holds_every_scope', 'id'],
    named: 'name',
    edits: [
      ['--name <name>', 'name', 'a new name'],
      ['--scopes <list>', 'scopes', 'all its scopes, comma-separated', parseScope],
    ],
    erasure: { verb: 'delete', about: 'Delete a role. Its users lose what they held by it only.' },
  },
  user: {
    title: 'user',
    argument: ['user', 'the e-mail address or id'],
    path: '/users',
    columns: ['email', 'name', 'status', 'external_id', 'id'],
    named: 'email',
    filtered: true,
    edits: [
      ['--email <address>', 'email', 'a new e-mail address; ends all sessions'],
      ['--name <name>', 'name', 'the name'],
      ['--external-id <id>', 'external_id', 'id at your own service; empty: none', orNone],
      ['--roles <list>', 'roles', 'ids of all roles, comma-separated', parseScope],
      ['--permissions <list>', 'permissions', 'scopes besides those of the roles, comma-separated', parseScope],
    ],
    erasure: {
      verb: 'erase',
      about: 'Erase a user: everything that is stored about them, except the audit log.',
      final:
        'Name, addresses, sessions, passkeys, mails and grants of this user will be deleted. The audit log keeps its events: their id, what they did, and the networks and browsers of sign-ins, but no name and no address.',
    },
  },
  app: {
    title: 'application',
    argument: ['application', 'its name or id'],
    path: '/applications',
    columns: ['name', 'suspended', 'device_flow', 'public', 'id'],
    named: 'name',
    edits: [
      ['--name <name>', 'name', 'display name'],
      ['--scopes <list>', 'allowed_scopes', 'scopes that it may request, comma-separated', parseScope],
      ['--default-scopes <list>', 'default_scopes', 'scopes of a request that names none', parseScope],
      ['--required-scopes <list>', 'required_scopes', 'scopes that a user cannot leave out', parseScope],
      ['--device-flow <yes|no>', 'device_flow', 'may use the device flow', yesOrNo],
      ['--require-pkce <yes|no>', 'pkce_required', 'require PKCE in the dialog', yesOrNo],
    ],
    erasure: {
      verb: 'delete',
      about: 'Delete an application and end all grants to it.',
      final: 'The application, its secrets and all grants to it will end, everywhere and for good.',
    },
  },
}

/** Adds the verbs that program.ts lists as `MANAGED`. */
export function defineManaged(command: Command, name: string): void {
  const noun = NOUNS[name]
  if (!noun) throw new Error(`no noun ${name}`)
  const { title, edits, erasure } = noun

  within(noun, command.command('list').description(`List ${title}s.`)).action(async (options: Options) => {
    const items = await (await connect(options)).list(pathOf(noun, options))
    print(options, { items }, formatList(noun.columns, items))
  })

  about(noun, command.command('show').description(`Show one ${title}.`)).action((one: string, options: Options) =>
    onOne(
      noun,
      one,
      options,
      async (client, path) => {
        const shown = await client.send('GET', path)
        print(options, shown, formatResource(shown))
      },
      'read',
    ),
  )

  const edit = about(noun, command.command('edit').description(`Change a ${title}. What is left out stays as it is.`))
  for (const [flags, , words] of edits) edit.option(flags, words)
  edit.action((one: string, options: Options) =>
    onOne(noun, one, options, async (client, path) => {
      const change = changeOf(edits, options as Resource)
      const shown = await client.send('PATCH', path, change)
      print(options, shown, formatResource(shown))
    }),
  )

  if (name === 'user')
    about(
      noun,
      command.command('disable').description('Disable a user: end all sessions, refuse all credentials.'),
    ).action((one: string, options: Options) =>
      onOne(noun, one, options, async (client, path) => {
        const shown = await client.send('PATCH', path, { disabled: true })
        print(options, shown, `Disabled the user ${shown.email} (${shown.id}). "latchkey user enable" undoes it.`)
      }),
    )

  if (!erasure) return
  const removal = about(noun, command.command(erasure.verb).description(erasure.about))
  if (erasure.final) removal.option('--yes', 'really; this cannot be undone')
  removal.action((one: string, options: Options) =>
    onOne(noun, one, options, async (client, path, id) => {
      if (erasure.final && !options.yes)
        throw new CommandRefused(`${erasure.final} This cannot be undone. Add --yes to do it; nothing was changed.`)
      await client.send('DELETE', path)
      print(options, { id }, `${DONE[erasure.verb]} the ${title} ${id}.`)
    }),
  )
}

const DONE = { delete: 'Deleted', erase: 'Erased', close: 'Closed' }

const isOfAccount = ({ path }: Noun) => path !== '/accounts' && path !== '/scopes'

function within(noun: Noun, command: Command): Command {
  return addConnectionOptions(isOfAccount(noun) ? command.requiredOption('--account <slug>', 'the account') : command)
}

function about(noun: Noun, command: Command): Command {
  const [name, words] = noun.argument
  return within(noun, command.argument(`<${name}>`, words))
}

function pathOf(noun: Noun, { account = '' }: Options): string {
  return isOfAccount(noun) ? `/accounts/${encodeURIComponent(account)}${noun.path}` : noun.path
}

/** Calls `work` with the path of the resource that the argument names. */
async function onOne(
  noun: Noun,
  one: string,
  options: Options,
  work: (client: ManagementClient, path: string, id: string) => Promise<void>,
  wish: 'read' | 'change' = 'change',
): Promise<void> {
  const client = await connect(options)
  const path = pathOf(noun, options)
  if (noun.title === 'scope' && wish === 'read') return work(scopeReader(client, one), path, one)
  const id = isOfAccount(noun) ? await findId(client, noun, path, one) : one
  await work(client, `${path}/${encodeURIComponent(id)}`, id)
}

/** The API lists scopes and shows none: the catalogue is short. */
function scopeReader(client: ManagementClient, name: string): ManagementClient {
  return {
    ...client,
    send: async (_method, path) =>
      (await client.list(path)).find((scope) => scope.name === name) ?? missing('scope', name),
  }
}

async function findId(client: ManagementClient, noun: Noun, path: string, one: string): Promise<string> {
  if (/^(?:rol|usr|app)_[0-9a-z]{12}$/.test(one)) return one
  const filter = noun.filtered ? `?${new URLSearchParams({ [noun.named]: one })}` : ''
  const found = (await client.list(`${path}${filter}`)).filter((each) => noun.filtered || each[noun.named] === one)
  if (found.length > 1)
    throw new CommandRefused(`Several have this name: ${found.map(({ id }) => id).join(', ')}. Give the id.`)
  return String(found[0]?.id ?? missing(noun.title, one))
}

function missing(title: string, name: string): never {
  throw new CommandRefused(`There is no ${title} "${name}".`)
}

function changeOf(edits: readonly Edit[], options: Resource): Resource {
  const given = edits.flatMap(([flags, member, , read = (text: string) => text]) => {
    const option = flags.replace(/^--(\S+) .*/, '$1').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
    const value = options[option]
    return typeof value === 'string' ? [[member, read(value)] as const] : []
  })
  if (given.length > 0) return Object.fromEntries(given)
  throw new CommandRefused(`Nothing to change. Options: ${edits.map(([flags]) => flags).join(', ')}.`)
}
