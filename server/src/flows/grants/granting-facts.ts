/**
 * Gathers the facts for the rule of granting (core/grants/granting.ts). A transaction that grants locks first what they
 * depend on: the user, the count of an unvetted application, the session or the test mode.
 */
import type { DeviceCode } from '../../core/device/code.ts'
import { compareOrigin } from '../../core/device/origin.ts'
import type { Answer, Decider, GrantingFacts, OnPage } from '../../core/grants/granting.ts'
import { networkOf } from '../../core/network.ts'
import { CROWD, mustSignInAgain } from '../../core/sign-in/attempts.ts'
import { type Account, readAccount } from '../../store/accounts/accounts.ts'
import type { User } from '../../store/accounts/users.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { readScopes, type Scope } from '../../store/applications/scopes.ts'
import { readUnvetted } from '../../store/applications/vettings.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import { countCrowd, readGrantAges } from '../../store/sign-in/attempts.ts'
import type { HeldSession } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'

export type GrantRequest = { readonly applicationId: string; readonly scopes: readonly string[] } & (
  | ({ readonly flow: 'device'; readonly requestedFrom: string | null } & Pick<DeviceCode, 'variant' | 'takenFrom'>)
  /** A dialog begins in the user's own browser, and leads to a token set. */
  | { readonly flow: 'dialog' }
)

export type Parties = Pick<GrantingFacts, 'application'> & { readonly user: User; readonly account: Account }

/** Null if one of them does not exist. Queries in every case, so that timing does not reveal which. */
export async function readParties(db: Queryable, user: User | null, applicationId: string): Promise<Parties | null> {
  const application = await findApplication(db, applicationId)
  const account = await readAccount(db, user?.accountId ?? '')
  return user && application && account && { user, application, account }
}

export type Facts = Omit<GrantingFacts, 'scopes'> & Parties & { readonly scopes: readonly Scope[] }

/** Null if the application, the user or the account does not exist (any more). */
export async function readFacts(
  db: Queryable,
  request: GrantRequest,
  user: User | null,
  by: Decider,
  now: number,
): Promise<Facts | null> {
  const { flow, applicationId, scopes: requested } = request
  const parties = await readParties(db, user, applicationId)
  if (!parties) return null
  const variant = request.flow === 'device' ? request.variant : 'token_set'
  const scopes = await readScopes(db, requested)
  const unvetted = await readUnvetted(db, applicationId, parties.user)
  return { ...parties, flow, variant, requested, scopes, unvetted, by, now }
}

type AtPage = {
  readonly userId: string
  readonly session: HeldSession
  readonly address: string | null
  readonly now: number
}

/** The user on the consent page, or with the answer that was given there. */
export async function readOnPage(
  context: Context,
  db: Queryable,
  request: GrantRequest,
  { userId, session, address, now }: AtPage,
  answer: Answer | null,
): Promise<OnPage> {
  const { freshMs, codeGrantLimit } = context.config
  const { authenticatedAt, createdAt } = session
  const shared = { kind: 'page', authenticatedAt, freshMs, answer } as const
  if (request.flow === 'dialog')
    return { ...shared, origin: 'same', crowded: false, takenOver: false, grantedMany: false }
  const { applicationId, requestedFrom, takenFrom } = request
  const crowded = (await countCrowd(db, applicationId, networkOf(requestedFrom))) >= CROWD.max
  // By our clock: whoever signs in elsewhere gets a new session.
  const signedInMs = now - Math.max(createdAt, authenticatedAt)
  const grantedMany = mustSignInAgain(await readGrantAges(db, userId), signedInMs, codeGrantLimit)
  const origin = compareOrigin(locate(context, requestedFrom), locate(context, address))
  return { ...shared, origin, crowded, takenOver: takenFrom !== null, grantedMany }
}

function locate({ geoip }: Context, address: string | null) {
  const { country, asn } = geoip.find(address)
  return { address, country, asn }
}
