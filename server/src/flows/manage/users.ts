/** Creating a user by the management API, SCIM or the command line: with or without an invitation, own or of the host service. */
import { isExternalId } from '../../core/accounts/account.ts'
import { readEmail } from '../../core/sign-in/email.ts'
import { originOfNewUsers } from '../../core/sign-in/origin.ts'
import { createId } from '../../secrets/random.ts'
import { isAddressTaken } from '../../store/accounts/address-changes.ts'
import { insertUser, saveHostProfile } from '../../store/accounts/users.ts'
import { unknownScopes } from '../../store/applications/scopes.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import {
  type Administrator,
  asAdministratorOrKey,
  type ByCaller,
  checkMayGive,
  type Forbidden,
} from '../accounts/administrator.ts'
import { announceAdministrator } from '../accounts/announce-administrator.ts'
import { type ChosenRoles, chooseRoles, inviteUser, type NotFound, type TooMany } from '../accounts/give-access.ts'
import type { Context } from '../context.ts'
import { noteOperatorChange } from '../operator/by-command-line.ts'
import { hasOperators } from '../operator/operator.ts'
import type { OriginSettings } from '../sign-in/origin.ts'

export type NewManagedUser = {
  readonly email: string
  readonly name: string | null
  readonly externalId: string | null
  readonly roleIds: readonly string[]
  readonly permissions: readonly string[]
  readonly invite: boolean
}

export type ManagedUserResult =
  | { readonly outcome: 'created'; readonly userId: string }
  /** The invalid input, or an address or external id that the account already has. */
  | { readonly outcome: 'email' | 'name' | 'external_id' | 'exists' | 'role' | 'scope' }
  | TooMany
  | NotFound
  | Forbidden

const NO_ROLES: ChosenRoles = { roleIds: [], administrator: false }

export function createManagedUser(
  context: Pick<Context, 'db'> & OriginSettings,
  by: ByCaller,
  wish: NewManagedUser,
): Promise<ManagedUserResult> {
  return asAdministratorOrKey(context, by, async (tx, account, key): Promise<ManagedUserResult> => {
    const accountId = account.id
    const operators = hasOperators(context.config, account)
    const origin = originOfNewUsers({ operators, handOver: context.config.signInUrl !== null })
    const email = readEmail(wish.email)
    if (email === null) return { outcome: 'email' }
    const { externalId } = wish
    if (operators && externalId !== null) return { outcome: 'external_id' }
    if (externalId === null ? origin === 'host' : !isExternalId(externalId)) return { outcome: 'external_id' }
    if (wish.name !== null && (wish.name === '' || wish.name.length > 200)) return { outcome: 'name' }
    if ((await unknownScopes(tx, wish.permissions)).length > 0) return { outcome: 'scope' }
    const roles = wish.roleIds.length === 0 ? NO_ROLES : await chooseRoles(tx, accountId, wish.roleIds)
    if ('outcome' in roles) return roles
    const { permissions } = wish
    const { administrator } = roles
    checkMayGive(by, { access: roles.roleIds.length + permissions.length > 0, administrator })
    if (await isAddressTaken(tx, accountId, email, null)) return { outcome: 'exists' }
    const person = { accountId, email, roleIds: roles.roleIds, externalId }
    const made =
      wish.invite && origin === 'own'
        ? await inviteUser(tx, { ...key, by: key }, { ...person, language: 'en' })
        : await addWithoutMail(tx, key, { ...person, origin })
    if (made.outcome !== 'given') return made
    const { userId } = made
    const { name } = wish
    if (name !== null || permissions.length > 0) await saveHostProfile(tx, userId, { email, name, permissions })
    if (administrator) await announceAdministrator(tx, key.actor, { id: userId, accountId })
    const user = { id: userId, email, administrator }
    await noteOperatorChange(tx, context.config, { actor: key.actor, account, change: 'create', user })
    return { outcome: 'created', userId }
  })
}

async function addWithoutMail(
  tx: Transaction,
  { actor }: Administrator,
  user: Pick<Parameters<typeof insertUser>[1], 'accountId' | 'email' | 'roleIds' | 'origin' | 'externalId'>,
): Promise<{ readonly outcome: 'given'; readonly userId: string } | { readonly outcome: 'exists' }> {
  const userId = createId('usr')
  if (!(await insertUser(tx, { ...user, id: userId, passwordDigest: null }))) return { outcome: 'exists' }
  const { accountId, roleIds } = user
  await recordEvent(tx, { kind: 'user.created', actor, accountId, userId, detail: { roles: roleIds } })
  return { outcome: 'given', userId }
}
