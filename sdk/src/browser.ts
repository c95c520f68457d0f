/** The client library for pages: the dialog, and the life of what it grants. Without the device flow, and without a secret. */
import { type ClientOptions, createParts, type PageClient } from './client.ts'

export type { PageClient } from './client.ts'
export type { Clock } from './clock.ts'
export type { ClientEvents } from './context.ts'
export type { AccessKey, Credentials, TokenSet } from './credentials.ts'
export type { Dialog, DialogCode, DialogCompletion, DialogOptions, DialogResult, DialogWindow } from './dialog.ts'
export { type ErrorCode, type ErrorDetails, isLatchkeyError, LatchkeyError } from './errors.ts'
export type { Store } from './store.ts'
export { memoryStore } from './stores/memory.ts'
export { type SessionStorageOptions, sessionStorageStore } from './stores/session-storage.ts'

/** A page has no secret, and its browser says for itself what it is. */
export type PageClientOptions = Omit<ClientOptions, 'appSecret' | 'userAgent'>

export function createClient(options: PageClientOptions): PageClient {
  return createParts(options).client
}
