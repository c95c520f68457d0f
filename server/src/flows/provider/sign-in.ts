/** Sign-in at the identity provider of an account: the way there, and the way back with a code. */
import { hash, randomUUID } from 'node:crypto'
import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  fetchUserInfo,
  type IDToken,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client'
import { networkOf } from '../../core/network.ts'
import {
  type ProviderClaims,
  type ProviderProblem,
  type ProviderSignInProblem,
  readClaims,
} from '../../core/provider/provider.ts'
import { ELSEWHERE_SESSION_MS } from '../../core/sign-in/origin.ts'
import { saysSecondFactor } from '../../core/sign-in/second-factor.ts'
import { UNKNOWN_NETWORK } from '../../gate/limiter.ts'
import { decryptText, encryptText } from '../../secrets/provider/encrypted-text.ts'
import { signBrowser, verifyBrowser, verifyLink } from '../../secrets/web-texts.ts'
import { findProvider, type IdentityProvider } from '../../store/provider/identity-providers.ts'
import { spendChallenge } from '../../store/sign-in/methods.ts'
import type { HostAccount } from '../../store/sign-in/sessions.ts'
import { accountOrigin } from '../accounts/address.ts'
import type { Context } from '../context.ts'
import { hasProvider } from '../sign-in/origin.ts'
import { type Browser, type SignedIn, startSession } from '../sign-in/sessions.ts'
import { type Client, type Opened, reasonOf } from './client.ts'
import { saveProviderUser } from './users.ts'

/** Enough time to find a password and a second factor at the provider. */
export const PROVIDER_SIGN_IN_MS = 10 * 60 * 1000

/** Path to which the provider returns. Administrators register its address there. */
const PROVIDER_RETURN_PATH = '/sign-in/provider/return'

export function redirectUriOf(context: Pick<Context, 'config'>, { slug }: Pick<HostAccount, 'slug'>): string {
  return `${accountOrigin(context, slug)}${PROVIDER_RETURN_PATH}`
}

/** What the browser's cookie has to remember until the provider sends it back. */
type Transaction = {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly issuer: string
  readonly clientId: string
  readonly next: string
  readonly link: string | null
  readonly maxAgeSeconds: number | null
  readonly at: number
}

export type ProviderWish = {
  /** Path of the page after signing in. */
  readonly next: string
  /** A sign-in may be this old; null: any. */
  readonly maxAgeSeconds: number | null
  /** The provider asks who it is, although somebody may be signed in there. */
  readonly anew: boolean
  /** A mailed link, which binds its user to the one who signs in; null: none. */
  readonly link: string | null
}

export type ProviderBeginning =
  | { readonly outcome: 'begun'; readonly address: string; readonly transaction: string }
  | { readonly outcome: 'failed'; readonly problem: ProviderProblem }
  | { readonly outcome: 'not_found' }

export async function beginProviderSignIn(
  context: Context,
  account: HostAccount,
  { next, maxAgeSeconds, anew, link }: ProviderWish,
  now: number,
  { mark }: Browser,
): Promise<ProviderBeginning> {
  const provider = await providerOf(context, account)
  if (!provider) return { outcome: 'not_found' }
  const opened = await openProvider(context, provider, now)
  if (opened.outcome === 'failed') {
    context.events.providerFailed(account.slug, opened.reason)
    return { outcome: 'failed', problem: opened.problem }
  }
  const { issuer, clientId } = provider
  const secrets = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
  const transaction: Transaction = { ...secrets, issuer, clientId, next, link, maxAgeSeconds, at: Math.floor(now) }
  const address = buildAuthorizationUrl(opened.configuration, {
    redirect_uri: redirectUriOf(context, account),
    scope: 'openid email profile',
    state: secrets.state,
    nonce: secrets.nonce,
    code_challenge: await calculatePKCECodeChallenge(secrets.verifier),
    code_challenge_method: 'S256',
    ...(maxAgeSeconds === null ? {} : { max_age: String(maxAgeSeconds) }),
    ...(anew ? { prompt: 'login' } : {}),
  })
  const encrypted = encryptText(
    context.config.keys,
    'provider-sign-in',
    placeOf(account, mark),
    JSON.stringify(transaction),
  )
  return { outcome: 'begun', address: address.href, transaction: encrypted.toString('base64url') }
}

/** Null: none that its users may sign in with. */
async function providerOf(context: Context, account: HostAccount): Promise<IdentityProvider | null> {
  return hasProvider(context, account) ? findProvider(context.db, account.id) : null
}

function openProvider(context: Context, provider: IdentityProvider, now: number) {
  const client = clientOf(context, provider)
  if (client) return context.providers.open(client, now)
  return { outcome: 'failed', problem: 'secret_lost', reason: 'the key of the client secret was retired' } as const
}

/** Null: the key that encrypted the secret is no longer in LATCHKEY_KEYS. */
export function clientOf({ config }: Pick<Context, 'config'>, provider: IdentityProvider): Client | null {
  const { accountId, issuer, clientId, encryptedSecret } = provider
  const clientSecret = decryptText(config.keys, 'provider-secret', accountId, encryptedSecret)
  return clientSecret === null ? null : { issuer, clientId, clientSecret }
}

/** The transaction can be opened on this account's host and in this browser only. */
const placeOf = ({ slug }: Pick<HostAccount, 'slug'>, mark: string) => `${slug}\n${mark}`

export type ProviderResult =
  | (SignedIn & { readonly browser: string; readonly next: string })
  | { readonly outcome: 'refused'; readonly problem: ProviderSignInProblem; readonly next: string }
  | { readonly outcome: 'not_found' }

/** Accepts what the provider sent back with the browser, and signs the user in. */
export async function finishProviderSignIn(
  context: Context,
  account: HostAccount,
  answer: { readonly fields: ReadonlyMap<string, string>; readonly transaction: string },
  now: number,
  browser: Browser,
): Promise<ProviderResult> {
  const provider = await providerOf(context, account)
  if (!provider) return { outcome: 'not_found' }
  const transaction = readTransaction(context, account, answer.transaction, browser)
  const refused = (problem: ProviderSignInProblem) =>
    ({ outcome: 'refused', problem, next: transaction?.next ?? '/' }) as const
  if (!transaction || now - transaction.at > PROVIDER_SIGN_IN_MS) return refused('expired')
  const { issuer, clientId, state } = transaction
  if (answer.fields.get('state') !== state || provider.issuer !== issuer || provider.clientId !== clientId)
    return refused('expired')
  const { budgets } = context.providers
  const network = networkOf(browser.address) ?? UNKNOWN_NETWORK
  if (!budgets.beginReturn(account.id, network)) return refused('busy')
  if (!(await spend(context, transaction))) return refused('expired')
  const proven = await prove(context, account, provider, transaction, answer.fields, now)
  if ('problem' in proven) return refused(proven.problem)
  budgets.endReturn(account.id, network)
  const link = transaction.link === null ? null : verifyLink(context.config.keys, transaction.link, account.slug)
  const saved = await saveProviderUser(context, account, provider, proven.claims, link)
  if (saved.outcome === 'refused') return refused(saved.problem)
  const entered = await enter(context, account, { ...saved, provider }, proven, browser)
  return entered ? { ...entered, next: transaction.next } : refused('disabled')
}

function readTransaction(context: Context, account: HostAccount, text: string, { mark }: Browser): Transaction | null {
  const encrypted = Buffer.from(text, 'base64url')
  const opened = decryptText(context.config.keys, 'provider-sign-in', placeOf(account, mark), encrypted)
  return opened === null ? null : (JSON.parse(opened) as Transaction)
}

/** PostgreSQL decides which of two requests is the first. */
function spend(context: Context, { state, at }: Transaction): Promise<boolean> {
  return context.db.transaction((tx) => spendChallenge(tx, hash('sha256', state, 'buffer'), at + PROVIDER_SIGN_IN_MS))
}

type Proven = { readonly claims: ProviderClaims; readonly idToken: IDToken }

/** Exchanges the code; openid-client checks state, issuer, audience, nonce, times and the signature. */
async function prove(
  context: Context,
  account: HostAccount,
  provider: IdentityProvider,
  { state, nonce, verifier, maxAgeSeconds }: Transaction,
  fields: ReadonlyMap<string, string>,
  now: number,
): Promise<Proven | { readonly problem: ProviderSignInProblem }> {
  const opened = await openProvider(context, provider, now)
  if (opened.outcome === 'failed') {
    context.events.providerFailed(account.slug, opened.reason)
    return { problem: 'unavailable' }
  }
  const back = new URL(redirectUriOf(context, account))
  for (const [name, value] of fields) back.searchParams.set(name, value)
  try {
    const tokens = await authorizationCodeGrant(opened.configuration, back, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
      ...(maxAgeSeconds === null ? {} : { maxAge: maxAgeSeconds }),
    })
    const idToken = tokens.claims()
    if (!idToken || !isForUs(idToken, provider)) return { problem: 'invalid' }
    const claims = await claimsOf(opened, provider, idToken, tokens.access_token)
    return claims ? { claims, idToken } : { problem: 'invalid' }
  } catch (error) {
    context.events.providerFailed(account.slug, reasonOf(error))
    if (error instanceof AuthorizationResponseError) return { problem: 'declined' }
    if (opened.failures.length > 0) return { problem: 'unavailable' }
    const late = error instanceof Error && 'code' in error && error.code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED'
    return { problem: late && maxAgeSeconds !== null ? 'not_recent' : 'invalid' }
  }
}

/** openid-client checks the authorized party only if there are several audiences (OpenID Connect Core, section 3.1.3.7). */
function isForUs({ azp }: IDToken, { clientId }: IdentityProvider): boolean {
  return azp === undefined || azp === clientId
}

/**
 * Many providers put the address and groups into the user info only. The address and whether it is verified come from the
 * same document.
 */
async function claimsOf(
  { configuration }: Opened,
  { roleClaim }: IdentityProvider,
  idToken: IDToken,
  accessToken: string,
): Promise<ProviderClaims | null> {
  const lacks = idToken.email === undefined || (roleClaim !== null && !Object.hasOwn(idToken, roleClaim))
  if (!lacks || configuration.serverMetadata().userinfo_endpoint === undefined) return readClaims(idToken, roleClaim)
  const about = await fetchUserInfo(configuration, accessToken, idToken.sub)
  const { email, email_verified } = idToken.email === undefined ? about : idToken
  return readClaims({ ...about, ...idToken, email, email_verified }, roleClaim)
}

type Entering = { readonly userId: string; readonly provider: IdentityProvider }

/** PostgreSQL cannot store a NUL. */
function isStorable(claim: unknown): claim is string {
  return typeof claim === 'string' && !claim.includes('\0')
}

/** In a transaction of its own: the roles may have ended test modes, whose locks come after those of a session. */
async function enter(
  context: Context,
  { slug }: HostAccount,
  { userId, provider }: Entering,
  { claims, idToken }: Proven,
  browser: Browser,
): Promise<(SignedIn & { readonly browser: string }) | null> {
  const amr = [idToken.amr].flat().filter(isStorable)
  const sid = isStorable(idToken.sid) && idToken.sid.length <= 255 ? idToken.sid : null
  const elsewhere = {
    // Without the time, the sign-in counts as old: a sensitive action asks for it.
    authenticatedAt: typeof idToken.auth_time === 'number' ? idToken.auth_time * 1000 : 0,
    amr: amr.map((each) => each.slice(0, 50)).slice(0, 10),
    sid,
  }
  const authenticated = {
    how: ['identity provider', ...elsewhere.amr].join(' ').slice(0, 100),
    secondFactor: saysSecondFactor(amr, idToken.acr),
    proof: { issuer: provider.issuer, subject: claims.subject },
    elsewhere,
    maxLifetimeMs: ELSEWHERE_SESSION_MS,
  }
  const user = { id: userId, accountId: provider.accountId, slug }
  const signedIn = await context.db.transaction((tx) => startSession(context, tx, user, browser, authenticated))
  if (!signedIn) return null
  const { keys } = context.config
  const browserId = browser.known === null ? null : verifyBrowser(keys, browser.known, userId)
  return { ...signedIn, browser: signBrowser(keys, browserId ?? randomUUID(), userId) }
}
