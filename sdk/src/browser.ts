/**
 * Client library for web pages: the dialog, and storing, renewing and revoking what it grants. Has no device flow and
 * takes no secret.
 */
import { type ClientOptions, createParts, type PageClient } from './client.ts'

export type { CallOptions } from './abort.ts'
export type { Cause } from './cause.ts'
export type { PageClient } from './client.ts'
export type { Clock } from './clock.ts'
export type { ClientEvents } from './context.ts'
export type { AccessKey, Credentials, TokenSet } from './credentials.ts'
export type { Dialog, DialogCode, DialogCompletion, DialogOptions, DialogResult, DialogWindow } from './dialog.ts'
export { type ErrorCode, type ErrorDetails, isLatchkeyError, LatchkeyError } from './errors.ts'
export type { Store } from './store.ts'
export { memoryStore } from './stores/memory.ts'
export { type SessionStorageOptions, sessionStorageStore } from './stores/session-storage.ts'

/**
 * Options for a page: without `appSecret`, which a page cannot keep, and without `userAgent`, which the browser sets.
 */
export type PageClientOptions = Omit<ClientOptions, 'appSecret' | 'userAgent'>

export function createClient(options: PageClientOptions): PageClient {
  return createParts(options).client
}
