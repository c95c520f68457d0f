/** State of the fake, in memory: one application, one user, their codes, dialogs, grants and credentials. */
import { type FakeAnswer, FakeRefused, parseScope } from './fake-answer.ts'

export type FakeVariant = 'token_set' | 'access_key'

export type FakeApplication = {
  readonly id: string
  /** Empty for a public application. */
  readonly secret: string
  readonly allowedScopes: readonly string[]
  readonly defaultScopes: readonly string[]
  readonly deviceFlow: boolean
  readonly redirectUris: readonly string[]
}

export type FakeLifetimes = {
  readonly interval: number
  readonly code: number
  readonly accessToken: number
}

/** A grant by the user. Revoking it ends every credential issued from it. */
export type FakeGrant = {
  readonly variant: FakeVariant
  readonly scopes: readonly string[]
  /** Not secret, as in the service: no part of a credential. */
  readonly id: string
  generation: number
  /** The newest generation whose access token was accepted. */
  usedGeneration: number
  /** The fields issued last, and when: repeated for a request with the previous credential. */
  issued: FakeIssued | null
  revoked: boolean
}

export type FakeIssued = { readonly fields: Record<string, string | number>; readonly at: number }

export type FakeCredential = {
  readonly is: 'access_token' | 'refresh_token' | 'access_key'
  readonly grant: FakeGrant
  readonly generation: number
  readonly issuedAt: number
  /** Null for a credential that does not expire by itself. */
  readonly expiresAt: number | null
}

export type FakeCode = {
  readonly deviceCode: string
  readonly userCode: string
  readonly variant: FakeVariant
  readonly scopes: readonly string[]
  readonly state: string
  readonly expiresAt: number
  status: 'pending' | 'accepted' | 'rejected' | 'expired' | 'used'
  grant: FakeGrant | null
  /** Time of the last poll that was not too early. */
  lastPollAt: number | null
  /** The poll that received the outcome, and when, to answer its repetition. */
  delivered: { readonly key: string | null; readonly answer: FakeAnswer; readonly at: number } | null
}

/** An authorization code that a dialog returned. */
export type FakeDialogCode = {
  readonly grant: FakeGrant
  readonly redirectUri: string
  /** Null if the dialog was opened without a challenge; then the exchange must not have a verifier. */
  readonly challenge: string | null
  readonly state: string
  readonly expiresAt: number
  used: boolean
  /** The exchange that was answered, to answer its repetition. */
  delivered: {
    readonly key: string | null
    readonly fields: Record<string, string | number>
    readonly at: number
  } | null
}

export type FakeWorld = {
  readonly baseUrl: string
  readonly application: FakeApplication
  readonly resource: { readonly id: string; readonly secret: string }
  readonly account: string
  readonly user: string
  readonly lifetimes: FakeLifetimes
  readonly codes: Map<string, FakeCode>
  readonly dialogCodes: Map<string, FakeDialogCode>
  readonly grants: Set<FakeGrant>
  readonly credentials: Map<string, FakeCredential>
  suspended: boolean
  now(): number
}

const SYMBOLS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

export function randomText(length: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(length)), (byte) => SYMBOLS[byte % 64]).join('')
}

/** Text in the form of the service's ids. */
export function randomId(length: number): string {
  return randomText(length).toLowerCase().replace(/[-_]/g, '0')
}

export function randomDigits(length: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(length)), (byte) => byte % 10).join('')
}

/** Throws `invalid_application`. A public application sends no secret or an empty one. */
export function authenticate({ application }: FakeWorld, id: string, secret: string): void {
  if (id !== application.id || secret !== application.secret) throw new FakeRefused('invalid_application')
}

/** The requested scopes, or the default ones. Throws `invalid_scope`. */
export function resolveScopes({ application }: FakeWorld, text: string | undefined): readonly string[] {
  const asked = parseScope(text ?? '')
  const scopes = asked.length === 0 ? application.defaultScopes : asked
  if (!scopes.every((name) => application.allowedScopes.includes(name))) throw new FakeRefused('invalid_scope')
  return scopes
}

export function createGrant(world: FakeWorld, variant: FakeVariant, scopes: readonly string[]): FakeGrant {
  const fresh = { generation: 0, usedGeneration: 0, issued: null, revoked: false }
  const grant: FakeGrant = { id: `grt_${randomId(20)}`, variant, scopes, ...fresh }
  world.grants.add(grant)
  return grant
}
