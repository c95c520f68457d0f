/** Back-channel logout (OpenID Connect Back-Channel Logout 1.0): the provider says that a user's session there ended. */
import { hash } from 'node:crypto'
import { errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose'
import { byProvider } from '../../core/audit/actor.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { endSessionsOf, findProvider } from '../../store/provider/identity-providers.ts'
import { spendChallenge } from '../../store/sign-in/methods.ts'
import type { HostAccount } from '../../store/sign-in/sessions.ts'
import { accountOrigin } from '../accounts/address.ts'
import type { Context } from '../context.ts'
import { hasProvider } from '../sign-in/origin.ts'
import { ALGORITHMS, CLOCK_TOLERANCE_SECONDS, reasonOf } from './client.ts'

/** Path to which the provider posts. Administrators register its address there. */
const PROVIDER_LOGOUT_PATH = '/sign-in/provider/logout'

export function logoutUriOf(context: Pick<Context, 'config'>, { slug }: Pick<HostAccount, 'slug'>): string {
  return `${accountOrigin(context, slug)}${PROVIDER_LOGOUT_PATH}`
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const MAX_TOKEN_LENGTH = 16_000
/** Section 2.4 recommends two minutes. */
const MAX_AGE_SECONDS = 120

export type Logout =
  | { readonly outcome: 'done'; readonly sessions: number }
  | { readonly outcome: 'invalid' | 'unavailable' | 'not_found' }

export async function logOutByProvider(
  context: Context,
  account: HostAccount,
  token: string,
  now: number,
): Promise<Logout> {
  const provider = hasProvider(context, account) ? await findProvider(context.db, account.id) : null
  if (!provider) return { outcome: 'not_found' }
  const { issuer, clientId } = provider
  const found = await context.providers.keysOf(issuer)
  if (found.outcome === 'failed') return { outcome: 'unavailable' }
  if (token.length > MAX_TOKEN_LENGTH) return { outcome: 'invalid' }
  let verified: JWTVerifyResult
  try {
    verified = await jwtVerify(token, found.keys, {
      algorithms: ALGORITHMS,
      issuer: found.issuer,
      audience: clientId,
      currentDate: new Date(now),
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      maxTokenAge: MAX_AGE_SECONDS,
      requiredClaims: ['jti', 'events'],
    })
  } catch (error) {
    context.events.providerFailed(account.slug, reasonOf(error))
    const unfetched = !(error instanceof errors.JOSEError) || error instanceof errors.JWKSTimeout
    return { outcome: unfetched ? 'unavailable' : 'invalid' }
  }
  const ended = isLogoutType(verified.protectedHeader.typ) ? readLogout(verified.payload) : null
  if (!ended) return { outcome: 'invalid' }
  return context.db.transaction(async (tx): Promise<Logout> => {
    const digest = hash('sha256', `logout\n${account.id}\n${issuer}\n${clientId}\n${ended.jti}`, 'buffer')
    const until = now + 2 * (MAX_AGE_SECONDS + CLOCK_TOLERANCE_SECONDS) * 1000
    if (!(await spendChallenge(tx, digest, until))) return { outcome: 'invalid' }
    const users = await endSessionsOf(tx, account.id, issuer, ended)
    for (const [userId, sessions] of Map.groupBy(users, (id) => id)) {
      const about = { actor: byProvider, accountId: account.id, userId }
      await recordEvent(tx, { kind: 'session.ended', ...about, detail: { sessions: sessions.length } })
    }
    return { outcome: 'done', sessions: users.length }
  })
}

/** Section 2.4 recommends the type, and many providers omit it; a token of another type is no logout. */
function isLogoutType(typ: string | undefined): boolean {
  return typ === undefined || /^(?:application\/)?(?:logout\+)?jwt$/i.test(typ)
}

type Ended = { readonly jti: string; readonly subject: string | null; readonly sid: string | null }

/** Section 2.6. A nonce would make it an ID token. */
function readLogout({ jti, sub, sid, events, nonce }: JWTPayload): Ended | null {
  const isLogout = typeof events === 'object' && events !== null && Object.hasOwn(events, EVENT)
  if (!isLogout || nonce !== undefined || typeof jti !== 'string' || jti === '') return null
  const named = [sub, sid].filter((each) => each !== undefined)
  if (named.length === 0 || named.some((each) => typeof each !== 'string' || each === '')) return null
  // PostgreSQL cannot store it.
  if ([jti, ...named].some((each) => String(each).includes('\0'))) return null
  return { jti, subject: sub ?? null, sid: typeof sid === 'string' ? sid : null }
}
