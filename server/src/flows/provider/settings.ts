/** The identity provider of an account, as its administrators set it up, test it and switch it on. */
import { byUser } from '../../core/audit/actor.ts'
import {
  type Admission,
  BREAK_GLASS_COUNT,
  type ProviderProblem,
  type ProviderState,
  readDomains,
} from '../../core/provider/provider.ts'
import { allowedOrigins } from '../../core/sign-in/origin.ts'
import { encryptText } from '../../secrets/provider/encrypted-text.ts'
import { listRoles, type Role } from '../../store/accounts/roles.ts'
import { listOwnAdministrators, type User } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { findProvider, type IdentityProvider, saveProvider } from '../../store/provider/identity-providers.ts'
import { deleteProviderSessions, type HostAccount } from '../../store/sign-in/sessions.ts'
import { asAdministrator, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'
import { ruleOf } from '../sign-in/origin.ts'
import type { Client } from './client.ts'
import { logoutUriOf } from './logout.ts'
import { clientOf, redirectUriOf } from './sign-in.ts'

export type ShownProvider = {
  /** Null: none was entered. */
  readonly provider: IdentityProvider | null
  readonly roles: readonly Role[]
  /** Who can be named for emergencies. */
  readonly administrators: readonly Pick<User, 'id' | 'email'>[]
  readonly redirectUri: string
  readonly logoutUri: string
}

/** Whether the account can have a provider: not the operators', and not with a host service. */
export function mayHaveProvider(context: Context, { slug }: Pick<HostAccount, 'slug'>): boolean {
  return allowedOrigins(ruleOf(context, { slug, provider: 'optional' })).includes('provider')
}

export async function readProviderSettings(context: Context, account: HostAccount): Promise<ShownProvider> {
  const { db } = context
  return {
    provider: await findProvider(db, account.id),
    roles: await listRoles(db, account.id),
    administrators: await listOwnAdministrators(db, account.id),
    redirectUri: redirectUriOf(context, account),
    logoutUri: logoutUriOf(context, account),
  }
}

/** As typed. */
export type WantedProvider = {
  readonly state: ProviderState
  readonly issuer: string
  readonly clientId: string
  /** Empty: the one that is stored. */
  readonly clientSecret: string
  readonly domains: string
  readonly admission: Admission
  readonly defaultRole: string
  readonly roleClaim: string
  readonly roleValues: ReadonlyMap<string, string>
  readonly breakGlass: readonly string[]
}

/** The invalid field. */
export type ProviderFieldProblem =
  | 'client_id'
  | 'client_secret'
  | 'domains'
  | 'domain_needed'
  | 'default_role'
  | 'role_claim'
  | 'break_glass'
  /** Nobody of the account's own users could sign in. */
  | 'no_own_administrator'

export type ProviderSaving =
  | { readonly outcome: 'saved' }
  | { readonly outcome: 'unfit'; readonly problem: ProviderFieldProblem }
  | { readonly outcome: 'failed'; readonly problem: ProviderProblem }
  | { readonly outcome: 'not_found' }
  | Forbidden

/** Switching it on, or changing the client while it is on, tests the connection first. */
export async function saveProviderSettings(
  context: Context,
  account: HostAccount,
  by: string,
  wanted: WantedProvider,
  now: number,
): Promise<ProviderSaving> {
  if (!mayHaveProvider(context, account)) return { outcome: 'not_found' }
  const issuer = readIssuer(wanted.issuer)
  const wrong = context.providers.problemWith(issuer)
  if (wrong) return { outcome: 'failed', problem: wrong }
  const before = await findProvider(context.db, account.id)
  const client = readClient(context, before, { ...wanted, issuer })
  if ('problem' in client) return { outcome: 'unfit', problem: client.problem }
  const changed = wanted.clientSecret !== '' || before?.clientId !== client.clientId || before.issuer !== issuer
  if (wanted.state !== 'off' && (changed || before?.state === 'off')) {
    const problem = await testClient(context, account, client, now)
    if (problem) return { outcome: 'failed', problem }
  }
  return asAdministrator(context, by, async (tx, { id }): Promise<ProviderSaving> => {
    if (id !== account.id) return { outcome: 'forbidden' }
    const read = await readWanted(tx, account.id, wanted)
    if (typeof read === 'string') return { outcome: 'unfit', problem: read }
    const { keys } = context.config
    const encryptedSecret = encryptText(keys, 'provider-secret', account.id, client.clientSecret)
    const provider = { ...read, accountId: account.id, issuer, clientId: client.clientId, encryptedSecret }
    await save(tx, by, provider, wanted.clientSecret !== '')
    return { outcome: 'saved' }
  })
}

/** The address of the discovery document is often copied instead of the issuer. */
function readIssuer(typed: string): string {
  const issuer = typed.trim().replace(/\/\.well-known\/openid-configuration$/, '')
  // Without a path, both spellings are one address.
  return URL.parse(issuer)?.pathname === '/' ? issuer.replace(/\/$/, '') : issuer
}

/** A stored secret is never sent to another issuer than it was entered for: it belongs to that one. */
function readClient(
  context: Context,
  before: IdentityProvider | null,
  { issuer, ...wanted }: WantedProvider,
): Client | { readonly problem: ProviderFieldProblem } {
  const clientId = wanted.clientId.trim()
  if (clientId === '' || clientId.length > 500) return { problem: 'client_id' }
  const typed = wanted.clientSecret.trim()
  const stored = before?.issuer === issuer ? clientOf(context, before)?.clientSecret : null
  const clientSecret = typed === '' ? stored : typed
  if (!clientSecret || clientSecret.length > 1_000) return { problem: 'client_secret' }
  return { issuer, clientId, clientSecret }
}

type ReadProvider = Omit<IdentityProvider, 'accountId' | 'issuer' | 'clientId' | 'encryptedSecret'>

async function readWanted(
  tx: Transaction,
  accountId: string,
  wanted: WantedProvider,
): Promise<ReadProvider | ProviderFieldProblem> {
  const { state, admission } = wanted
  const domains = readDomains(wanted.domains)
  if (!domains) return 'domains'
  if (admission === 'domain' && domains.length === 0) return 'domain_needed'
  const roles = await listRoles(tx, accountId)
  const defaultRole = wanted.defaultRole === '' ? null : wanted.defaultRole
  const isChoice = roles.some(({ id, holdsEveryScope }) => id === defaultRole && !holdsEveryScope)
  if (defaultRole !== null && !isChoice) return 'default_role'
  const roleClaim = wanted.roleClaim.trim() === '' ? null : wanted.roleClaim.trim()
  const roleValues = roles
    .map(({ id }) => ({ roleId: id, value: wanted.roleValues.get(id)?.trim() ?? '' }))
    .filter(({ value }) => value !== '')
    .sort((a, b) => (a.roleId < b.roleId ? -1 : 1))
  if ((roleClaim?.length ?? 0) > 200 || roleValues.some(({ value }) => value.length > 200)) return 'role_claim'
  if (roleClaim === null && roleValues.length > 0) return 'role_claim'
  const administrators = (await listOwnAdministrators(tx, accountId)).map(({ id }) => id)
  if (administrators.length === 0) return 'no_own_administrator'
  const breakGlass = [...new Set(wanted.breakGlass)].sort()
  const fits = breakGlass.length <= BREAK_GLASS_COUNT && breakGlass.every((id) => administrators.includes(id))
  if (!fits || (state === 'required' && breakGlass.length < BREAK_GLASS_COUNT)) return 'break_glass'
  return { state, admission, domains, defaultRole, roleClaim, roleValues, breakGlass }
}

/** Another issuer has other users: nobody of the former one stays signed in. */
async function save(tx: Transaction, by: string, provider: IdentityProvider, secret: boolean): Promise<void> {
  const { accountId, state, issuer } = provider
  const before = await findProvider(tx, accountId)
  await saveProvider(tx, provider)
  const ends = before !== null && (before.issuer !== issuer || state === 'off')
  const sessions = ends ? await deleteProviderSessions(tx, accountId) : 0
  const changed = changes(before, provider)
  if (changed.length === 0 && !secret) return
  await recordEvent(tx, {
    kind: 'account.provider_changed',
    actor: byUser(by),
    accountId,
    detail: {
      changed: Object.fromEntries(changed),
      ...(secret ? { secret: 'replaced' } : {}),
      ...(sessions > 0 ? { sessions } : {}),
    },
  })
}

const AUDITED = [
  'state',
  'issuer',
  'clientId',
  'domains',
  'admission',
  'defaultRole',
  'roleClaim',
  'roleValues',
  'breakGlass',
] as const

/** Changed settings by name, with old and new value; never the secret. */
function changes(before: IdentityProvider | null, after: IdentityProvider) {
  return AUDITED.filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after[name])).map(
    (name) => [name, { from: before?.[name] ?? null, to: after[name] }] as const,
  )
}

export type ProviderTest =
  | { readonly outcome: 'tested'; readonly problem: ProviderProblem | null }
  | { readonly outcome: 'not_found' }

/** Tests what is stored. */
export async function testProviderSettings(context: Context, account: HostAccount, now: number): Promise<ProviderTest> {
  const provider = mayHaveProvider(context, account) ? await findProvider(context.db, account.id) : null
  if (!provider) return { outcome: 'not_found' }
  const client = clientOf(context, provider)
  if (!client) return { outcome: 'tested', problem: 'secret_lost' }
  return { outcome: 'tested', problem: await testClient(context, account, client, now) }
}

/** Null: nothing is wrong. */
async function testClient(
  context: Context,
  account: HostAccount,
  client: Client,
  now: number,
): Promise<ProviderProblem | null> {
  const { providers } = context
  return providers.budgets.test(account.id) ? providers.test(client, redirectUriOf(context, account), now) : 'busy'
}
