/**
 * Credentials of a grant, and how they are read from a response.
 * docs/interface/device-flow.md, "Poll for authorization".
 */
import { LatchkeyError } from './errors.ts'
import type { Answer } from './wire.ts'

/**
 * The kind of credentials to request: `token_set`, which is renewed, or `access_key`, one credential that does not
 * expire.
 */
export type Variant = 'token_set' | 'access_key'

export interface TokenSet {
  readonly variant: 'token_set'
  readonly accessToken: string
  readonly refreshToken: string
  /** When the token set was received, in epoch milliseconds. */
  readonly issuedAt: number
  /** When the access token expires, in epoch milliseconds. */
  readonly expiresAt: number
  /** The granted scopes, which may be fewer than requested. */
  readonly scope: readonly string[]
  /** The application's own `state`, as it was sent. */
  readonly state: string
}

export interface AccessKey {
  readonly variant: 'access_key'
  readonly accessKey: string
  readonly scope: readonly string[]
  readonly state: string
}

export type Credentials = TokenSet | AccessKey

export type CredentialsOf<V extends Variant> = V extends 'access_key' ? AccessKey : TokenSet

/** The value to send after `Authorization: Bearer`. */
export function bearerOf(credentials: Credentials): string {
  return credentials.variant === 'access_key' ? credentials.accessKey : credentials.accessToken
}

/**
 * Reads the token set of an accepted poll, an exchange or a refresh. `state` comes from the caller, who knows what it
 * sent.
 */
export function readTokenSet(answer: Answer, now: number, state: string): TokenSet {
  return {
    variant: 'token_set',
    accessToken: text(answer, 'access_token'),
    refreshToken: text(answer, 'refresh_token'),
    issuedAt: now,
    expiresAt: now + seconds(answer, 'expires_in') * 1000,
    scope: scopeList(answer.body.scope),
    state,
  }
}

export function readAccessKey(answer: Answer, state: string): AccessKey {
  return { variant: 'access_key', accessKey: text(answer, 'access_key'), scope: scopeList(answer.body.scope), state }
}

/** Splits a scope list: commas in Latchkey's own dialect, spaces in the standard one. */
export function scopeList(scope: unknown): readonly string[] {
  return typeof scope === 'string' ? scope.split(/[\s,]+/).filter((name) => name !== '') : []
}

/** Formats a scope list as the request parameter. */
export function scopeText(scope: readonly string[] | string | undefined): string | undefined {
  return scope === undefined || typeof scope === 'string' ? scope : scope.join(',')
}

/** Reads a required field. The error does not quote the value, which might be a secret. */
export function text(answer: Answer, name: string): string {
  const value = answer.body[name]
  if (typeof value === 'string' && value !== '') return value
  throw incomplete(answer, name)
}

export function seconds(answer: Answer, name: string): number {
  const value = answer.body[name]
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
  throw incomplete(answer, name)
}

function incomplete({ requestId }: Answer, name: string): LatchkeyError {
  return new LatchkeyError('unexpected_answer', { message: `The answer has no usable ${name}.`, requestId })
}
