/**
 * Client library for applications: the parts that run on every platform. Parts that need Node are in
 * `@latchkey/sdk/node`.
 */
export type { CallOptions } from './abort.ts'
export type { Cause } from './cause.ts'
export { type Client, type ClientOptions, createClient, type PageClient } from './client.ts'
export type { Clock } from './clock.ts'
export type { ClientEvents } from './context.ts'
export type { AccessKey, Credentials, CredentialsOf, TokenSet, Variant } from './credentials.ts'
export type { Device, StartOptions } from './device.ts'
export type { DeviceEvent, SavedSession } from './device-polling.ts'
export type { DeviceSession } from './device-session.ts'
export type { Dialog, DialogCode, DialogCompletion, DialogOptions, DialogResult, DialogWindow } from './dialog.ts'
export { ERROR_CODES, type ErrorCode, type ErrorDetails, isLatchkeyError, LatchkeyError } from './errors.ts'
export {
  createGuard,
  type Guard,
  type GuardResult,
  type RefusedRequest,
  type RequireAuthOptions,
} from './middleware/bearer.ts'
export type { Store } from './store.ts'
export { memoryStore } from './stores/memory.ts'
export { type SessionStorageOptions, sessionStorageStore } from './stores/session-storage.ts'
export { createVerifier, type VerifiedCredential, type Verifier, type VerifierOptions } from './verify.ts'
