/**
 * PKCE (RFC 7636): an authorization code is useless without the verifier, which only the client that started the
 * request holds. S256 is the only method; `plain` would reveal the verifier to anyone who reads the request.
 */
import { hash } from 'node:crypto'
import { equalSecrets } from './mac.ts'

/** SHA-256 in base64url, without padding. */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/

/** RFC 7636, section 4.1. The lower limit matters: a short verifier could be guessed. */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

export function isCodeChallenge(text: string): boolean {
  return CHALLENGE.test(text)
}

export function isCodeVerifier(text: string): boolean {
  return VERIFIER.test(text)
}

/** False for a malformed verifier, even if its hash matches. */
export function fitsChallenge(verifier: string, challenge: string): boolean {
  return (
    isCodeVerifier(verifier) && equalSecrets(Buffer.from(hash('sha256', verifier, 'base64url')), Buffer.from(challenge))
  )
}
