/** Connected applications: users list and remove their own grants, administrators those of their whole account. */
import { type Grant, isGrantId } from '../../core/grants/grant.ts'
import { resolveEffective } from '../../core/grants/scope.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { type GrantWithSecret, makeAccessKey, RetiredKey } from '../../secrets/credentials.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { lockUser, readUser, type User } from '../../store/accounts/users.ts'
import { readScopes, type Scope } from '../../store/applications/scopes.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { markRevoked } from '../../store/grants/grants.ts'
import {
  countUserGrants,
  findListedGrant,
  type ListedGrant,
  type ListedGrantColumn,
  listGrants,
} from '../../store/grants/listed.ts'
import { actorOf, type ByCaller } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'
import { refreshLimits } from './refresh.ts'
import { revokeGrant } from './revoke.ts'

export type ConnectedApplication = Omit<ListedGrant, 'secret'> & {
  /** The scopes in effect now: fewer than granted if the user or the application has lost some. */
  readonly can: readonly Scope[]
  /** Last characters of the access key, to identify it. Null for a token set, or when its signing key was retired. */
  readonly keyEnding: string | null
}

export type ConnectedPage = {
  readonly grants: readonly ConnectedApplication[]
  /** Cursor of the next page; null on the last one. */
  readonly after: string | null
}

const NEWEST_FIRST = { search: '', sort: 'connected', descending: true, after: null } as const

/** Newest first. */
export async function listOwnGrants(
  context: Context,
  userId: string,
  after: string | null = null,
  order: Pick<TableWish<ListedGrantColumn>, 'descending' | 'lines'> = NEWEST_FIRST,
): Promise<ConnectedPage> {
  const wish = { ...NEWEST_FIRST, ...order, after: readCursor(after) }
  return describePage(context, await listGrants(context.db, { userId }, wish, refreshLimits(context.config)))
}

export function countOwnGrants(context: Pick<Context, 'db' | 'config'>, userId: string): Promise<number> {
  return countUserGrants(context.db, userId, refreshLimits(context.config))
}

export async function listAccountGrants(
  context: Context,
  accountId: string,
  wish: TableWish<ListedGrantColumn> = NEWEST_FIRST,
  applicationId: string | null = null,
): Promise<ConnectedPage> {
  const checked = { ...wish, after: readCursor(wish.after) }
  const whose = { accountId, applicationId }
  return describePage(context, await listGrants(context.db, whose, checked, refreshLimits(context.config)))
}

/** The cursor comes from the URL and may be anything: an invalid one means the first page. */
function readCursor(after: string | null): string | null {
  return after !== null && isGrantId(after) ? after : null
}

/** One grant, for a user who may remove it: its own user or an administrator of its account. Otherwise null. */
export async function readGrant(
  context: Context,
  asked: { readonly by: string; readonly grantId: string; readonly asAdministrator: boolean },
): Promise<ConnectedApplication | null> {
  if (!isGrantId(asked.grantId)) return null
  const user = await readUser(context.db, asked.by)
  if (!user || user.disabled) return null
  const grant = await findListedGrant(context.db, user.accountId, asked.grantId)
  if (!grant || !mayRemove(user, grant, asked.asAdministrator)) return null
  return describe(context.config.keys, grant, await readScopes(context.db, grant.scopes))
}

async function describePage(context: Context, { lines, after }: TablePage<ListedGrant>): Promise<ConnectedPage> {
  const names = [...new Set(lines.flatMap((grant) => grant.scopes))]
  const scopes = await readScopes(context.db, names)
  return { grants: lines.map((grant) => describe(context.config.keys, grant, scopes)), after }
}

function describe(keys: Keyset, listed: ListedGrant, catalogue: readonly Scope[]): ConnectedApplication {
  const effective = resolveEffective(listed.scopes, listed.heldScopes, listed.allowedScopes)
  const can = effective.flatMap((name) => catalogue.filter((scope) => scope.name === name))
  const { secret: _, ...shown } = listed
  return { ...shown, can, keyEnding: keyEnding(keys, listed) }
}

const ENDING_LENGTH = 4

function keyEnding(keys: Keyset, grant: GrantWithSecret): string | null {
  if (grant.variant !== 'access_key') return null
  try {
    return makeAccessKey(keys, grant).slice(-ENDING_LENGTH)
  } catch (error) {
    if (error instanceof RetiredKey) return null
    throw error
  }
}

export type Removal = {
  readonly by: string
  readonly grantId: string
  /** Requested on the administrators' page: the grant may belong to any user of the account. */
  readonly asAdministrator: boolean
  /** The user also reports the application. */
  readonly reported: boolean
}

export type RemovalResult =
  | { readonly outcome: 'removed'; readonly applicationId: string }
  /** No such grant, revoked before, of another account or of another user: indistinguishable. */
  | { readonly outcome: 'not_found' }

const NOT_FOUND: RemovalResult = { outcome: 'not_found' }

/** Its credentials stop working on commit, and within two seconds in processes that have the grant cached. */
export async function removeGrant(context: Pick<Context, 'db'>, removal: Removal): Promise<RemovalResult> {
  const { by, grantId, asAdministrator, reported } = removal
  if (!isGrantId(grantId)) return NOT_FOUND

  return context.db.transaction(async (tx) => {
    const user = await lockUser(tx, by)
    if (!user || user.disabled) return NOT_FOUND
    const grant = await findListedGrant(tx, user.accountId, grantId)
    if (!grant || !mayRemove(user, grant, asAdministrator)) return NOT_FOUND
    const reason = asAdministrator ? 'removed_by_administrator' : 'removed_by_user'
    if (!(await markRevoked(tx, grantId, reason))) return NOT_FOUND
    const { accountId, userId, applicationId } = grant
    const about = { actor: actorOf(by), accountId, userId, applicationId, grantId }
    await recordEvent(tx, { kind: 'grant.revoked', ...about, detail: { reason } })
    if (reported) await recordEvent(tx, { kind: 'application.reported', ...about })
    return { outcome: 'removed', applicationId }
  })
}

/** The same by a management key. */
export function removeGrantByKey(context: Pick<Context, 'db'>, by: ByCaller, grantId: string): Promise<RemovalResult> {
  return context.db.transaction(async (tx) => {
    const grant = isGrantId(grantId) ? await findListedGrant(tx, by.accountId, grantId) : null
    if (!grant || !(await revokeGrant(tx, actorOf(by), grant, 'removed_by_administrator'))) return NOT_FOUND
    return { outcome: 'removed', applicationId: grant.applicationId }
  })
}

/** Expects a grant of the user's own account: the query finds no others. */
function mayRemove(user: User, grant: Grant, asAdministrator: boolean): boolean {
  return asAdministrator ? user.administrator : grant.userId === user.id
}
