/** What an application gets for a user's yes, and how it is read from an answer. docs/interface.md, "Poll for authorization". */
import { LatchkeyError } from './errors.ts'
import type { Answer } from './wire.ts'

/** Which of the two an application asks for: a token set that is renewed, or one access key that does not expire. */
export type Variant = 'oauth' | 'key'

export interface TokenSet {
  readonly variant: 'oauth'
  readonly accessToken: string
  readonly refreshToken: string
  /** When it was received, in epoch milliseconds. */
  readonly issuedAt: number
  /** When the access token ends, in epoch milliseconds. */
  readonly expiresAt: number
  /** What was granted: it may be less than what was asked for. */
  readonly scope: readonly string[]
  /** The application's own text, as it was sent. */
  readonly state: string
}

export interface AccessKey {
  readonly variant: 'key'
  readonly accessKey: string
  readonly scope: readonly string[]
  readonly state: string
}

export type Credentials = TokenSet | AccessKey

export type CredentialsOf<V extends Variant> = V extends 'key' ? AccessKey : TokenSet

/** What goes after `Authorization: Bearer`. */
export function bearerOf(credentials: Credentials): string {
  return credentials.variant === 'key' ? credentials.accessKey : credentials.accessToken
}

/** A token set of an accepted poll, an exchange or a refresh; `state` is told by the caller, who knows what it sent. */
export function readTokenSet(answer: Answer, now: number, state: string): TokenSet {
  return {
    variant: 'oauth',
    accessToken: text(answer, 'access_token'),
    refreshToken: text(answer, 'refresh_token'),
    issuedAt: now,
    expiresAt: now + seconds(answer, 'expires_in') * 1000,
    scope: scopeList(answer.body.scope),
    state,
  }
}

export function readAccessKey(answer: Answer, state: string): AccessKey {
  return { variant: 'key', accessKey: text(answer, 'access_key'), scope: scopeList(answer.body.scope), state }
}

/** Commas in the house dialect, spaces in the standard one. */
export function scopeList(scope: unknown): readonly string[] {
  return typeof scope === 'string' ? scope.split(/[\s,]+/).filter((name) => name !== '') : []
}

/** A list or the text that goes over the wire. */
export function scopeText(scope: readonly string[] | string | undefined): string | undefined {
  return scope === undefined || typeof scope === 'string' ? scope : scope.join(',')
}

/** A field that must be there; what is there instead is not told, it might be a secret. */
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
