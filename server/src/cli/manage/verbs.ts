/** `latchkey account|scope|role|user|app list|show|create|edit|…`: calls of the management API, and what they print. */
import type { Command } from 'commander'
import { CommandRefused, print } from '../client/output.ts'
import type { Wiring } from '../wiring.ts'
import { addConnectionOptions, type ConnectionOptions, withManagement } from './connection.ts'
import type { ManagementClient, Resource } from './management-client.ts'
import { type Field, NOUNS, type Noun } from './nouns.ts'
import { formatList, formatResource } from './table.ts'

export type NounOptions = ConnectionOptions & Resource & { readonly account?: string; readonly yes?: boolean }

export function defineVerbs(command: Command, noun: Noun, wiring: Wiring): void {
  const { title, edits, erasure } = noun
  const verb = (name: string, about: string) => command.command(name).description(about)
  const verbOnOne = (name: string, about: string, work: OnOne) =>
    verb(name, about)
      .argument(`<${noun.argument[0]}>`, noun.argument[1])
      .action((one: string, options: NounOptions) =>
        withManagement(wiring, options, (client) => onOne(client, noun, one, options, work)),
      )

  verb('list', `List ${title}s.`).action((options: NounOptions) =>
    withManagement(wiring, options, async (client) => {
      const items = await client.list(pathOf(noun, options))
      print(options, { items }, formatList(noun.columns, items))
    }),
  )

  verbOnOne('show', `Show one ${title}.`, async ({ client, path, id, options }) => {
    const shown = noun === NOUNS.scope ? await findScope(client, id) : await client.send('GET', path)
    print(options, shown, formatResource(shown))
  })

  defineCreate(verb('create', noun.create.about), noun, wiring)

  const edit = verbOnOne(
    'edit',
    `Change a ${title}. What is left out stays as it is.`,
    async ({ client, path, options }) => {
      const change = membersOf(edits, options)
      if (Object.keys(change).length === 0)
        throw new CommandRefused(`Nothing to change. Options: ${edits.map(([flags]) => flags).join(', ')}.`)
      const shown = await client.send('PATCH', path, change)
      print(options, shown, formatResource(shown))
    },
  )
  for (const [flags, , about] of edits) edit.option(flags, about)

  if (erasure) {
    const removal = verbOnOne(erasure.verb, erasure.about, async ({ client, path, id, options }) => {
      if (erasure.final && !options.yes)
        throw new CommandRefused(`${erasure.final} This cannot be undone. Add --yes to do it; nothing was changed.`)
      await client.send('DELETE', path)
      print(options, { id }, `${DONE[erasure.verb]} the ${title} ${id}.`)
    })
    if (erasure.final) removal.option('--yes', 'really; this cannot be undone')
  }
  for (const each of command.commands) {
    if (isOfAccount(noun)) each.requiredOption('--account <slug>', 'the account')
    addConnectionOptions(each)
  }
}

const DONE = { delete: 'Deleted', erase: 'Erased', close: 'Closed' }

function defineCreate(command: Command, noun: Noun, wiring: Wiring): void {
  const { argument, required, optional, defaults, also } = noun.create
  if (argument) command.argument(`<${argument[0]}>`, argument[1])
  for (const [flags, , about] of required) command.requiredOption(flags, about)
  for (const [flags, , about] of optional) command.option(flags, about)
  command.action((...given: readonly unknown[]) => {
    const options = given[argument ? 1 : 0] as NounOptions
    return withManagement(wiring, options, async (client) => {
      if (client.context && options.administrator !== undefined)
        return (await import('../set-up.ts')).createWithAdministrator(client.context, options)
      const members = {
        ...defaults,
        ...membersOf([...required, ...optional], options),
        ...(argument ? { [argument[0]]: given[0] } : {}),
      }
      const shown = await client.send('POST', pathOf(noun, options), await withRoleIds(client, options, members))
      const { account } = options
      const place = account === undefined ? {} : { account }
      print(options, { ...shown, ...place, ...also?.(options) }, createdInWords(noun, shown, account))
    })
  })
}

function createdInWords({ title, named }: Noun, shown: Resource, account: string | undefined): string {
  const id = shown.id === undefined ? '' : ` (${shown.id})`
  const words = `Created the ${title} ${shown[named]}${id}${account === undefined ? '' : ` in ${account}`}.`
  if (shown.secret === undefined) return words
  return shown.secret === null
    ? `${words}\n\nIt is a public application: it has no secret and uses PKCE.`
    : `${words}\n\n  id      ${shown.id}\n  secret  ${shown.secret}\n\nStore the secret now: it cannot be shown again.`
}

/** Roles are typed by name. */
async function withRoleIds(client: ManagementClient, options: NounOptions, members: Resource): Promise<Resource> {
  const { roles: names } = members
  if (!Array.isArray(names)) return members
  const known = await client.list(pathOf(NOUNS.role, options))
  const unknown = names.filter((name) => !known.some((role) => role.name === name))
  if (unknown.length > 0) {
    const has = known.map(({ name }) => name).join(', ')
    throw new CommandRefused(`The account "${options.account}" has no role "${unknown.join('", "')}". It has: ${has}.`)
  }
  return { ...members, roles: known.filter(({ name }) => names.includes(name)).map(({ id }) => id) }
}

const isOfAccount = (noun: Noun) => noun !== NOUNS.account && noun !== NOUNS.scope

function pathOf(noun: Noun, { account = '' }: NounOptions): string {
  return isOfAccount(noun) ? `/accounts/${encodeURIComponent(account)}${noun.path}` : noun.path
}

/** `path`: of the resource that the argument names. */
type OnOne = (found: {
  readonly client: ManagementClient
  readonly path: string
  readonly id: string
  readonly options: NounOptions
}) => Promise<void>

export async function onOne(
  client: ManagementClient,
  noun: Noun,
  one: string,
  options: NounOptions,
  work: OnOne,
): Promise<void> {
  const id = isOfAccount(noun) ? await findId(client, noun, options, one) : one
  await work({ client, path: `${pathOf(noun, options)}/${encodeURIComponent(id)}`, id, options })
}

/** The API lists scopes and shows none: the catalogue is short. */
async function findScope(client: ManagementClient, wanted: string): Promise<Resource> {
  return (await client.list(NOUNS.scope.path)).find(({ name }) => name === wanted) ?? missing('scope', wanted)
}

async function findId(client: ManagementClient, noun: Noun, options: NounOptions, one: string): Promise<string> {
  if (/^(?:rol|usr|app)_[0-9a-z]{12}$/.test(one)) return one
  const filter = noun.filtered ? `?${new URLSearchParams({ [noun.named]: one })}` : ''
  const items = await client.list(`${pathOf(noun, options)}${filter}`)
  const found = items.filter((each) => noun.filtered || each[noun.named] === one)
  if (found.length > 1)
    throw new CommandRefused(`Several have this name: ${found.map(({ id }) => id).join(', ')}. Give the id.`)
  return String(found[0]?.id ?? missing(noun.title, one))
}

function missing(title: string, name: string): never {
  throw new CommandRefused(`There is no ${title} "${name}".`)
}

function membersOf(fields: readonly Field[], options: Resource): Resource {
  const given = fields.flatMap(([flags, member, , read]) => {
    const option = flags.replace(/^--(\S+).*/, '$1').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
    const value = options[option]
    if (value === undefined) return []
    return [[member, read ? read(String(value)) : value] as const]
  })
  return Object.fromEntries(given)
}
