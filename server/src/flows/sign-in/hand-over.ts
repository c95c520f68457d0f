/** Sign-in at the host service: the way there, and the way back with a signed statement about the user. */

import { hash, randomUUID } from 'node:crypto'
import { isSlug } from '../../core/accounts/account.ts'
import { changedMembers } from '../../core/accounts/changed-members.ts'
import { byHostService } from '../../core/audit/actor.ts'
import { readEmail } from '../../core/sign-in/email.ts'
import { ELSEWHERE_SESSION_MS } from '../../core/sign-in/origin.ts'
import { CLOCK_TOLERANCE_SECONDS, type HostService, type Statement } from '../../host-service.ts'
import { createId } from '../../secrets/random.ts'
import { type Challenge, signBrowser, signChallenge, verifyBrowser, verifyChallenge } from '../../secrets/web-texts.ts'
import { findAccount, lockAccount } from '../../store/accounts/accounts.ts'
import { readRoles } from '../../store/accounts/roles.ts'
import {
  findHostUser,
  insertUser,
  type Member,
  saveHostProfile,
  wasAccessSetSince,
} from '../../store/accounts/users.ts'
import { unknownScopes } from '../../store/applications/scopes.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { spendChallenge } from '../../store/sign-in/methods.ts'
import { accountOrigin } from '../accounts/address.ts'
import { announceAdministrator } from '../accounts/announce-administrator.ts'
import { giveRoles, lockMember } from '../accounts/give-access.ts'
import { addAccount } from '../accounts/register.ts'
import type { Context } from '../context.ts'
import { type Browser, type SignedIn, startSession } from './sessions.ts'

/** Enough time to find a password and a second factor at the host service. */
const HAND_OVER_MS = 15 * 60 * 1000

/** Path to which the host service returns. */
export const RETURN_PATH = '/sign-in/return'

/** The host service at which users of the account sign in; null: they sign in here. */
export function hostOf(context: Context, account: { readonly slug: string }): HostService | null {
  return account.slug === context.config.operatorAccount ? null : context.hostService
}

/**
 * Whether an account that does not exist would be created by the first sign-in. Only the host service knows whether it
 * has such an account.
 */
export function mayAppear(context: Context, slug: string): boolean {
  return hostOf(context, { slug }) !== null && context.config.signInCreates === 'accounts' && isSlug(slug)
}

export type HandOverWish = {
  /** Path of the page after signing in. */
  readonly next: string
  /** A sign-in may be this old; null: any. */
  readonly maxAgeSeconds: number | null
}

/** The address at the host service to which the browser is sent. */
export function handOverAddress(
  context: Context,
  { signInUrl }: HostService,
  { slug }: { readonly slug: string },
  { next, maxAgeSeconds }: HandOverWish,
  now: number,
  { mark }: Browser,
): string {
  const challenge = signChallenge(context.config.keys, { at: Math.floor(now), maxAgeSeconds }, slug, mark)
  const back = new URL(RETURN_PATH, accountOrigin(context, slug))
  back.searchParams.set('next', next)
  const url = new URL(signInUrl)
  url.searchParams.set('account', slug)
  url.searchParams.set('challenge', challenge)
  url.searchParams.set('return_to', back.href)
  if (maxAgeSeconds !== null) url.searchParams.set('max_age', String(maxAgeSeconds))
  return url.href
}

/** `max_age` of a re-authentication: half of `freshMs`, so that it is still fresh when the user acts. */
export function recentSeconds({ config }: Context): number {
  return Math.floor(config.freshMs / 2000)
}

export type HandOverProblem =
  /**
   * The challenge expired, was used before, or was issued for another browser or account; or a management key has changed the
   * user since the statement was signed.
   */
  | 'expired'
  /** The statement is not what it has to be; the log says why. */
  | 'invalid'
  /** The host service did not ask the user to sign in again. */
  | 'not_recent'
  /** Latchkey does not know the user, or the account. */
  | 'unknown'
  | 'disabled'
  /** Another user of the account has the e-mail address. */
  | 'conflict'

export type HandOverResult =
  | (SignedIn & { readonly browser: string })
  | { readonly outcome: 'refused'; readonly problem: HandOverProblem }
  | { readonly outcome: 'no_keys' }

const refused = (problem: HandOverProblem) => ({ outcome: 'refused', problem }) as const

/** Accepts the statement that the host service sent along, and signs the user in. */
export async function finishHandOver(
  context: Context,
  host: HostService,
  slug: string,
  text: string,
  now: number,
  browser: Browser,
): Promise<HandOverResult> {
  const verified = await host.verify(text, { audience: accountOrigin(context, slug), now })
  if (verified.outcome !== 'verified') {
    context.events.statementRefused(slug, verified.reason)
    return verified.outcome === 'no_keys' ? { outcome: 'no_keys' } : refused('invalid')
  }
  const { statement } = verified
  const email = readEmail(statement.email)
  if (statement.account !== slug || email === null) {
    context.events.statementRefused(slug, email === null ? '"email" is no address' : '"account" is another one')
    return refused('invalid')
  }
  const challenge = verifyChallenge(context.config.keys, statement.challenge, slug, browser.mark)
  if (!challenge || now - challenge.at > HAND_OVER_MS) return refused('expired')
  if (!(await spend(context, statement.challenge, challenge))) return refused('expired')
  if (!isRecentEnough(statement, challenge)) return refused('not_recent')
  const saved = await context.db.transaction((tx) => save(context, tx, slug, { ...statement, email }))
  return saved.outcome === 'saved' ? enter(context, { ...saved, slug }, statement, browser) : saved
}

/** PostgreSQL decides which of two requests is the first. */
function spend(context: Context, text: string, { at }: Challenge): Promise<boolean> {
  return context.db.transaction((tx) => spendChallenge(tx, hash('sha256', text, 'buffer'), at + HAND_OVER_MS))
}

function isRecentEnough({ authenticatedAt }: Statement, { at, maxAgeSeconds }: Challenge): boolean {
  return maxAgeSeconds === null || authenticatedAt >= at - (maxAgeSeconds + CLOCK_TOLERANCE_SECONDS) * 1000
}

type SavedUser = { readonly id: string; readonly accountId: string }

async function save(context: Context, tx: Transaction, slug: string, statement: Statement) {
  const known = (await findAccount(tx, slug)) ?? (await createAccount(context, tx, statement))
  const account = known && (await lockAccount(tx, known.id))
  return account ? saveUser(context, tx, account.id, statement) : refused('unknown')
}

/** In a transaction of its own: the roles may have ended test modes, whose locks come after those of a session. */
async function enter(
  context: Context,
  user: SavedUser & { readonly slug: string },
  { externalId, authenticatedAt, amr, secondFactor }: Statement,
  browser: Browser,
): Promise<HandOverResult> {
  const how = ['host service', ...amr].join(' ').slice(0, 100)
  const authenticated = {
    how,
    secondFactor,
    proof: { externalId },
    elsewhere: { authenticatedAt, amr },
    maxLifetimeMs: ELSEWHERE_SESSION_MS,
  }
  const signedIn = await context.db.transaction((tx) => startSession(context, tx, user, browser, authenticated))
  if (!signedIn) return refused('disabled')
  const { keys } = context.config
  const browserId = browser.known === null ? null : verifyBrowser(keys, browser.known, user.id)
  return { ...signedIn, browser: signBrowser(keys, browserId ?? randomUUID(), user.id) }
}

async function createAccount({ config }: Context, tx: Transaction, { account: slug, accountName }: Statement) {
  if (config.signInCreates !== 'accounts') return null
  const named = await addAccount(tx, { slug, name: accountName ?? slug }, byHostService)
  // Retried with the slug as the name, which is always a valid one. A reserved slug is refused again.
  if (named.outcome === 'refused') await addAccount(tx, { slug, name: slug }, byHostService)
  return findAccount(tx, slug)
}

/** Requires `lockAccount`. Roles and permissions become what the host service says; unknown names are ignored. */
async function saveUser(context: Context, tx: Transaction, accountId: string, statement: Statement) {
  const { externalId, email, name } = statement
  const chosen = (await readRoles(tx, accountId)).filter((role) => statement.roles.includes(role.name))
  const roles = { roleIds: chosen.map(({ id }) => id), administrator: chosen.some((role) => role.holdsEveryScope) }
  const unknown = await unknownScopes(tx, statement.permissions)
  const permissions = [...new Set(statement.permissions)].filter((scope) => !unknown.includes(scope)).sort()
  const profile = { email, name, permissions }
  const known = await findHostUser(tx, accountId, externalId)
  if (known !== null) {
    const member = await lockMember(tx, accountId, known)
    if (!member || member.disabled) return refused('disabled')
    // Otherwise a statement that was kept back would restore what the host service has taken away meanwhile.
    const signedBy = statement.issuedAt - CLOCK_TOLERANCE_SECONDS * 1000
    if (await wasAccessSetSince(tx, known, signedBy)) return refused('expired')
    if (!(await updateProfile(tx, member, profile))) return refused('conflict')
    await giveRoles(tx, { actor: byHostService, by: member, givers: [] }, member, roles)
    return { outcome: 'saved', id: known, accountId } as const
  }
  if (context.config.signInCreates === 'nothing') return refused('unknown')
  const id = createId('usr')
  const user = {
    id,
    accountId,
    email,
    passwordDigest: null,
    roleIds: roles.roleIds,
    origin: 'host',
    externalId,
  } as const
  if (!(await insertUser(tx, user))) return refused('conflict')
  await saveHostProfile(tx, id, profile)
  const detail = { roles: roles.roleIds, permissions }
  await recordEvent(tx, { kind: 'user.created', actor: byHostService, accountId, userId: id, detail })
  if (roles.administrator) await announceAdministrator(tx, byHostService, { id, accountId })
  return { outcome: 'saved', id, accountId } as const
}

/** False when another user of the account has the e-mail address. */
async function updateProfile(
  tx: Transaction,
  member: Member,
  profile: Parameters<typeof saveHostProfile>[2],
): Promise<boolean> {
  const changed = changedMembers<typeof profile>(member, profile)
  if (Object.keys(changed).length === 0) return true
  if (!(await saveHostProfile(tx, member.id, profile))) return false
  await recordEvent(tx, {
    kind: 'user.updated',
    actor: byHostService,
    accountId: member.accountId,
    userId: member.id,
    detail: { changed },
  })
  return true
}
