/** The difference between a configuration and the service, as changes by the management API, and in words. */
import type { Configuration, LiveAccount, LiveConfiguration, Path, Problem } from './configuration.ts'

export type Kind = 'scope' | 'account' | 'role' | 'application'

type Members = Readonly<Record<string, unknown>>

export type Change = {
  readonly action: 'add' | 'change' | 'delete'
  readonly kind: Kind
  /** Slug of the account that it belongs to; null for scopes and accounts. */
  readonly account: string | null
  /** Of an account, its slug. */
  readonly name: string
  /** What the path of its requests ends with; null if it is added. */
  readonly id: string | null
  /** What it gets. */
  readonly members: Members
  /** What it has of these; empty if it is added. */
  readonly before: Members
  /** Its place in the file; of a deletion, that of its section. */
  readonly path: Path
}

export type Plan = {
  /** In an order in which they can be made: scopes before what names them, deletions last. */
  readonly changes: readonly Change[]
  /** Not in the file although its section is, and therefore to be deleted with --prune. */
  readonly surplus: readonly Change[]
  readonly problems: readonly Problem[]
}

/** Members that are decided when the resource is created. */
const IMMUTABLE: Readonly<Record<Kind, readonly string[]>> = {
  scope: ['dangerous', 'device_flow'],
  account: [],
  role: [],
  application: ['public', 'resource_server'],
}

type Section = {
  readonly kind: Kind
  readonly account: string | null
  readonly path: Path
  readonly desired: Readonly<Record<string, Members>>
  readonly live: readonly { readonly id: string; readonly name: string; readonly entry: Members }[]
}

export function planChanges(desired: Configuration, live: LiveConfiguration): Plan {
  const accounts = Object.entries(desired.accounts ?? {})
  const sections = [
    ...(desired.scopes ? [scopesOf(desired.scopes, live)] : []),
    ...(desired.accounts ? [accountsOf(desired.accounts, live)] : []),
    ...accounts.flatMap(([slug, entry]) => sectionsOf(slug, entry, live.accounts.get(slug))),
  ]
  const compared = sections.map(compare)
  return {
    changes: compared.flatMap(({ changes }) => changes),
    surplus: sections.filter(({ kind }) => kind === 'role' || kind === 'application').flatMap(surplusOf),
    problems: compared.flatMap(({ problems }) => problems),
  }
}

function scopesOf(desired: NonNullable<Configuration['scopes']>, live: LiveConfiguration): Section {
  return { kind: 'scope', account: null, path: ['scopes'], desired, live: live.scopes }
}

function accountsOf(desired: NonNullable<Configuration['accounts']>, live: LiveConfiguration): Section {
  const named = Object.entries(desired).map(([slug, { roles: _roles, applications: _applications, ...own }]) => [
    slug,
    own,
  ])
  const known = Array.from(live.accounts, ([slug, { name, external_id }]) => ({
    ...{ id: slug, name: slug, entry: { name, external_id } },
  }))
  return { kind: 'account', account: null, path: ['accounts'], desired: Object.fromEntries(named), live: known }
}

function sectionsOf(
  slug: string,
  { roles, applications }: NonNullable<Configuration['accounts']>[string],
  live: LiveAccount | undefined,
): readonly Section[] {
  const within = (
    kind: 'role' | 'application',
    desired: Readonly<Record<string, Members>>,
    known: Section['live'],
  ) => ({
    ...{ kind, account: slug, path: ['accounts', slug, `${kind}s`], desired, live: known },
  })
  return [
    ...(roles ? [within('role', roles, live?.roles ?? [])] : []),
    ...(applications ? [within('application', applications, live?.applications ?? [])] : []),
  ]
}

function compare(section: Section): { changes: readonly Change[]; problems: readonly Problem[] } {
  const results = Object.entries(section.desired).map(([name, members]) => compareOne(section, name, members))
  return {
    changes: results.filter((result) => result !== null && 'action' in result),
    problems: results.filter((result) => result !== null && 'message' in result),
  }
}

function compareOne(section: Section, name: string, members: Members): Change | Problem | null {
  const { kind, account } = section
  const path = [...section.path, name]
  const [known, second] = section.live.filter((each) => each.name === name)
  if (!known) return { action: 'add', kind, account, name, id: null, members, before: {}, path }
  if (second) return { path, message: `There are several of this name: ${known.id}, ${second.id}. Rename one first.` }
  if (holdsEveryScope(known)) return { path, message: 'This role holds every scope, always. Leave it out of the file.' }
  const different = Object.keys(members).filter((member) => !isSame(known.entry[member], members[member]))
  const fixed = different.find((member) => IMMUTABLE[kind].includes(member))
  if (fixed !== undefined) {
    const message = `${title(fixed)} is ${inWords(known.entry[fixed])} and cannot be changed. Write that, or use another name.`
    return { path: [...path, fixed], message }
  }
  if (different.length === 0) return null
  const chosen = (from: Members) => Object.fromEntries(different.map((member) => [member, from[member]]))
  const change = { action: 'change', kind, account, name, id: known.id, path } as const
  return { ...change, members: chosen(members), before: chosen(known.entry) }
}

const holdsEveryScope = (live: object) => 'holdsEveryScope' in live && live.holdsEveryScope === true

function surplusOf({ kind, account, path, desired, live }: Section): readonly Change[] {
  const surplus = live.filter((each) => !Object.hasOwn(desired, each.name) && !holdsEveryScope(each))
  return surplus.map(({ id, name }) => ({
    ...{ action: 'delete', kind, account, name, id, members: {}, before: {}, path },
  }))
}

/** The order of a list means nothing. */
function isSame(one: unknown, other: unknown): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other
  return inWords(one) === inWords(other)
}

/** For example: application Display of acme: allowed scopes orders:read → orders:read orders:write. */
export function explainChange({ action, kind, account, name, members, before }: Change): string {
  const named = account === null ? `${kind} ${name}` : `${kind} ${name} of ${account}`
  if (action === 'delete') return `delete ${named}`
  const parts = Object.entries(members).map(([member, value]) =>
    action === 'add'
      ? `${title(member)} ${inWords(value)}`
      : `${title(member)} ${inWords(before[member])} → ${inWords(value)}`,
  )
  return `${action === 'add' ? 'add ' : ''}${named}: ${parts.join(', ')}`
}

const title = (member: string) =>
  member.replace('_uris', ' URIs').replace('external_id', 'external id').replaceAll('_', ' ')

function inWords(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.toSorted().join(' ')
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return value === null || value === undefined ? 'none' : JSON.stringify(value)
}
