/** The configuration of a service, read by the management API: all of it, or what a file is about. */
import type {
  ApplicationEntry,
  Configuration,
  Live,
  LiveAccount,
  LiveConfiguration,
  LiveRole,
  ScopeEntry,
} from '../../core/manage/configuration.ts'
import { type ManagementClient, ManagementRefusal } from './management-client.ts'

export type ShownScope = Required<ScopeEntry> & { readonly name: string }
export type ShownAccount = {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly external_id: string | null
}
export type ShownRole = {
  readonly id: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly holds_every_scope: boolean
}
export type ShownApplication = Required<ApplicationEntry> & { readonly id: string; readonly name: string }

/** Applications are read one by one; this many at a time. */
const MAX_CONCURRENT = 8

/** Sections that an account of the file leaves out are not read. */
export async function readFor(client: ManagementClient, { accounts = {} }: Configuration): Promise<LiveConfiguration> {
  const read = await mapInBatches(Object.entries(accounts), async ([slug, { roles, applications }]) => {
    const account = await findAccount(client, slug)
    return (
      account && ([slug, await readAccount(client, account, { roles: !!roles, applications: !!applications })] as const)
    )
  })
  return { scopes: await readScopes(client), accounts: new Map(read.filter((each) => each !== null)) }
}

export async function readWhole(client: ManagementClient): Promise<LiveConfiguration> {
  const accounts = await client.list<ShownAccount>('/accounts')
  const read = await mapInBatches(accounts, async (account) => {
    return [account.slug, await readAccount(client, account, { roles: true, applications: true })] as const
  })
  return { scopes: await readScopes(client), accounts: new Map(read) }
}

async function readScopes(client: ManagementClient): Promise<readonly Live<ScopeEntry>[]> {
  const scopes = await client.list<ShownScope>('/scopes')
  return scopes.map(({ name, title, dangerous, device_flow }) => ({
    ...{ id: name, name, entry: { title, dangerous, device_flow } },
  }))
}

async function findAccount(client: ManagementClient, slug: string): Promise<ShownAccount | null> {
  try {
    return (await client.send('GET', `/accounts/${encodeURIComponent(slug)}`)) as ShownAccount
  } catch (error) {
    if (error instanceof ManagementRefusal && error.code === 'not_found') return null
    throw error
  }
}

async function readAccount(
  client: ManagementClient,
  { slug, name, external_id }: ShownAccount,
  wanted: { readonly roles: boolean; readonly applications: boolean },
): Promise<LiveAccount> {
  const path = `/accounts/${slug}`
  const roles = wanted.roles ? await client.list<ShownRole>(`${path}/roles`) : []
  const lines = wanted.applications ? await client.list<{ readonly id: string }>(`${path}/applications`) : []
  const applications = await mapInBatches(lines, async ({ id }) => {
    return liveApplication((await client.send('GET', `${path}/applications/${id}`)) as ShownApplication)
  })
  return { name, external_id, roles: roles.map(liveRole), applications }
}

function liveRole({ id, name, scopes, holds_every_scope: holdsEveryScope }: ShownRole): LiveRole {
  return { id, name, holdsEveryScope, entry: { scopes } }
}

function liveApplication(shown: ShownApplication): Live<ApplicationEntry> {
  const { id, name, allowed_scopes, default_scopes, required_scopes } = shown
  const { device_flow, redirect_uris, public: isPublic, pkce_required, resource_server } = shown
  const scopes = { allowed_scopes, default_scopes, required_scopes }
  return {
    id,
    name,
    entry: { ...scopes, device_flow, redirect_uris, public: isPublic, pkce_required, resource_server },
  }
}

async function mapInBatches<From, To>(
  items: readonly From[],
  work: (item: From) => Promise<To>,
): Promise<readonly To[]> {
  const done: To[] = []
  for (let start = 0; start < items.length; start += MAX_CONCURRENT)
    done.push(...(await Promise.all(items.slice(start, start + MAX_CONCURRENT).map(work))))
  return done
}
