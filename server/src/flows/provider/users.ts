/** The user here of somebody who signed in at the identity provider: found, linked by an invitation, or created. */
import { changedMembers } from '../../core/accounts/changed-members.ts'
import { byProvider } from '../../core/audit/actor.ts'
import {
  domainProblem,
  type ProviderClaims,
  type ProviderUserProblem,
  rolesByClaim,
} from '../../core/provider/provider.ts'
import { createId } from '../../secrets/random.ts'
import { lockAccount } from '../../store/accounts/accounts.ts'
import { readRoles } from '../../store/accounts/roles.ts'
import {
  findProviderUser,
  findUser,
  hasOtherAdministrator,
  insertUser,
  linkUser,
  type Member,
  saveHostProfile,
} from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { findProvider, type IdentityProvider } from '../../store/provider/identity-providers.ts'
import { findLink, lockLink, setsPassword, spendPasswordLinks } from '../../store/sign-in/links.ts'
import type { HostAccount } from '../../store/sign-in/sessions.ts'
import { announceAdministrator } from '../accounts/announce-administrator.ts'
import { giveRoles, hasSignInMethod, lockMember } from '../accounts/give-access.ts'
import type { Context } from '../context.ts'

type Saved =
  | { readonly outcome: 'saved'; readonly userId: string }
  | { readonly outcome: 'refused'; readonly problem: ProviderUserProblem }

const refused = (problem: ProviderUserProblem) => ({ outcome: 'refused', problem }) as const

/** `linkId`: of a verified link in a mail, by which the user came. */
export function saveProviderUser(
  context: Pick<Context, 'db'>,
  { id: accountId }: Pick<HostAccount, 'id'>,
  used: IdentityProvider,
  claims: ProviderClaims,
  linkId: string | null,
): Promise<Saved> {
  return context.db.transaction(async (tx): Promise<Saved> => {
    await lockAccount(tx, accountId)
    const provider = await findProvider(tx, accountId)
    if (!provider || provider.issuer !== used.issuer || provider.clientId !== used.clientId) return refused('expired')
    const problem = domainProblem(provider, claims)
    if (problem) return refused(problem)
    const known = await findProviderUser(tx, accountId, { issuer: provider.issuer, subject: claims.subject })
    if (known !== null) return update(tx, provider, known, claims)
    return linkId === null ? admit(tx, provider, claims) : link(tx, provider, claims, linkId)
  })
}

async function update(
  tx: Transaction,
  provider: IdentityProvider,
  userId: string,
  claims: ProviderClaims,
): Promise<Saved> {
  const member = await lockMember(tx, provider.accountId, userId)
  if (!member || member.disabled) return refused('disabled')
  if (!(await updateProfile(tx, member, claims))) return refused('conflict')
  await updateRoles(tx, provider, member, claims)
  return { outcome: 'saved', userId }
}

/** An address that is not verified is not taken over. False when another user of the account has it. */
async function updateProfile(tx: Transaction, member: Member, claims: ProviderClaims): Promise<boolean> {
  const email = claims.emailVerified ? (claims.email ?? member.email) : member.email
  const profile = { email, name: claims.name ?? member.name, permissions: member.permissions }
  const changed = changedMembers<typeof profile>(member, profile)
  if (Object.keys(changed).length === 0) return true
  if (!(await saveHostProfile(tx, member.id, profile))) return false
  await recordEvent(tx, {
    kind: 'user.updated',
    actor: byProvider,
    accountId: member.accountId,
    userId: member.id,
    detail: { changed },
  })
  return true
}

/** Roles become what the claim says, if one is named. The last administrator stays one: nobody could change that back. */
async function updateRoles(
  tx: Transaction,
  provider: IdentityProvider,
  member: Member,
  claims: ProviderClaims,
): Promise<void> {
  if (provider.roleClaim === null) return
  const roleIds = rolesByClaim(claims.roleValues, provider.roleValues, provider.defaultRole)
  const administrator = await includesAdministrator(tx, provider.accountId, roleIds)
  const keeps = member.administrator && !administrator
  if (keeps && !(await hasOtherAdministrator(tx, provider.accountId, member.id))) return
  await giveRoles(tx, { actor: byProvider, by: member, givers: [] }, member, { roleIds, administrator })
}

async function includesAdministrator(tx: Transaction, accountId: string, ids: readonly string[]): Promise<boolean> {
  return (await readRoles(tx, accountId)).some((role) => role.holdsEveryScope && ids.includes(role.id))
}

/** Consumes the invitation: mailbox, and the same address verified by the provider. */
async function link(
  tx: Transaction,
  provider: IdentityProvider,
  claims: ProviderClaims,
  linkId: string,
): Promise<Saved> {
  const { accountId, issuer } = provider
  const found = await findLink(tx, accountId, linkId)
  const member = found && (await lockMember(tx, accountId, found.userId))
  const locked = member && (await lockLink(tx, accountId, linkId))
  if (!locked || !setsPassword(locked)) return refused('expired')
  if (!claims.emailVerified || claims.email === null) return refused('unverified')
  if (claims.email !== member.email) return refused('other_address')
  if (!(await linkUser(tx, member.id, { issuer, subject: claims.subject }))) return refused('conflict')
  await spendPasswordLinks(tx, member.id)
  const about = { actor: byProvider, accountId, userId: member.id }
  await recordEvent(tx, { kind: 'user.linked', ...about, detail: { issuer } })
  return update(tx, provider, member.id, claims)
}

/** Creates a user for an unknown subject. Refused if a user has the e-mail address: it never links to that user. */
async function admit(tx: Transaction, provider: IdentityProvider, claims: ProviderClaims): Promise<Saved> {
  const { accountId, issuer, admission } = provider
  const { email, emailVerified, subject, name } = claims
  if (email === null || !emailVerified) return refused(admission === 'domain' ? 'unverified' : 'unknown')
  const other = await findUser(tx, accountId, email)
  const member = other && (await lockMember(tx, accountId, other.id))
  if (member?.disabled) return refused('disabled')
  if (member) return refused(member.origin === 'own' && !hasSignInMethod(member) ? 'invited' : 'conflict')
  if (admission === 'invited') return refused('unknown')
  const id = createId('usr')
  const roleIds =
    provider.roleClaim === null
      ? [provider.defaultRole].filter((role) => role !== null)
      : rolesByClaim(claims.roleValues, provider.roleValues, provider.defaultRole)
  const origin = 'provider' as const
  const user = { id, accountId, email, passwordDigest: null, roleIds, origin, externalId: null }
  if (!(await insertUser(tx, { ...user, provider: { issuer, subject } }))) return refused('conflict')
  await saveHostProfile(tx, id, { email, name, permissions: [] })
  await recordEvent(tx, { kind: 'user.created', actor: byProvider, accountId, userId: id, detail: { roles: roleIds } })
  if (await includesAdministrator(tx, accountId, roleIds))
    await announceAdministrator(tx, byProvider, { id, accountId })
  return { outcome: 'saved', userId: id }
}
