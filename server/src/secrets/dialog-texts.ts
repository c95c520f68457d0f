/**
 * Signed texts of the dialog: authorization code, reference that travels through the browser, pushed request. They are
 * computed from the dialog's id and never stored.
 */
import { hash, randomBytes } from 'node:crypto'
import { uuidBytes, uuidFrom } from './device-code-text.ts'
import type { Keyset } from './keyset.ts'
import { type SignedText, sign, verify } from './signed-text.ts'

/**
 * dialog id 16. Not bound to an application: when a wrong one presents it, it must be recognised, so that it can be
 * burned.
 */
const code: SignedText = { prefix: 'lkc_', purpose: 'authorization-code', bodyBytes: 16, reserved: true }
/** dialog id 16, bound to the browser that sent the request. */
const dialogReference: SignedText = { prefix: 'lkq_', purpose: 'dialog-reference', bodyBytes: 16, reserved: true }
/** dialog id 16, bound to the account and to the same browser, as identified on the account's host. */
const accountReference: SignedText = { prefix: 'lkp_', purpose: 'account-reference', bodyBytes: 16, reserved: true }
/** dialog id 16 | expiry 6, bound to the application that pushed it. */
const pushed: SignedText = {
  prefix: 'urn:ietf:params:oauth:request_uri:',
  purpose: 'pushed-request',
  bodyBytes: 22,
  reserved: true,
}

export function signAuthorizationCode(keys: Keyset, dialogId: string): string {
  return sign(code, keys.signing, uuidBytes(dialogId))
}

export function verifyAuthorizationCode(keys: Keyset, text: string): string | null {
  return uuidOrNull(verify(code, keys, text))
}

/** Value of the HttpOnly cookie that identifies a browser on one host. */
export function createBrowserMark(): string {
  return randomBytes(16).toString('base64url')
}

export function isBrowserMark(text: string): boolean {
  return /^[A-Za-z0-9_-]{22}$/.test(text)
}

/** Passed between hosts in a URL, which must not contain the mark itself. */
export function digestBrowserMark(mark: string): string {
  return hash('sha256', mark, 'base64url')
}

export function signDialogReference(keys: Keyset, dialogId: string, browserMark: string): string {
  return sign(dialogReference, keys.signing, uuidBytes(dialogId), browserMark)
}

export function verifyDialogReference(keys: Keyset, text: string, browserMark: string): string | null {
  return uuidOrNull(verify(dialogReference, keys, text, browserMark))
}

export function signAccountReference(keys: Keyset, dialogId: string, slug: string, browserDigest: string): string {
  return sign(accountReference, keys.signing, uuidBytes(dialogId), `${slug}\n${browserDigest}`)
}

export function verifyAccountReference(keys: Keyset, text: string, slug: string, browserDigest: string): string | null {
  return uuidOrNull(verify(accountReference, keys, text, `${slug}\n${browserDigest}`))
}

export function signPushedRequest(keys: Keyset, dialogId: string, expiresAt: number, applicationId: string): string {
  const expiry = Buffer.alloc(6)
  expiry.writeUIntBE(Math.floor(expiresAt), 0, 6)
  return sign(pushed, keys.signing, Buffer.concat([uuidBytes(dialogId), expiry]), applicationId)
}

export function verifyPushedRequest(
  keys: Keyset,
  text: string,
  applicationId: string,
): { readonly id: string; readonly expiresAt: number } | null {
  const body = verify(pushed, keys, text, applicationId)
  return body && { id: uuidFrom(body.subarray(0, 16)), expiresAt: body.readUIntBE(16, 6) }
}

function uuidOrNull(body: Buffer | null): string | null {
  return body && uuidFrom(body)
}
