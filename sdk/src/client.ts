/** The client object that an application creates once, assembled from its parts. */
import { type CallOptions, unlessAborted } from './abort.ts'
import { authorizedFetch } from './authorized-fetch.ts'
import { type Clock, systemClock } from './clock.ts'
import type { ClientEvents, Context } from './context.ts'
import { type AccessKey, bearerOf, type Credentials, scopeList, scopeText, type TokenSet } from './credentials.ts'
import { createDevice, type Device } from './device.ts'
import { createDialog, type Dialog } from './dialog.ts'
import { LatchkeyError } from './errors.ts'
import { rotateKey } from './rotate-key.ts'
import type { Store } from './store.ts'
import { memoryStore } from './stores/memory.ts'
import { createTokens, type Tokens } from './tokens.ts'
import { createWire } from './wire.ts'

export interface ClientOptions {
  /** Base URL of the service, its `PUBLIC_URL`. */
  readonly baseUrl: string
  /** The application's id, `app_…`. */
  readonly appId: string
  /**
   * The application's secret, `lks_…`. Omit it for a public application. Never use it in a browser: `createClient`
   * throws `secret_in_browser` there.
   */
  readonly appSecret?: string | undefined
  /** Store for the credentials of one user. Default: in memory. */
  readonly store?: Store | undefined
  /**
   * Allows plain http to other machines, for the service and for `fetch`: everybody on the way can read the secret and
   * the credentials. For closed test networks only.
   */
  readonly allowInsecureRequests?: boolean | undefined
  /** Replaces the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
  readonly clock?: Clock | undefined
  /**
   * Whether polls ask the service to hold its response until the user decides, for up to 25 seconds (`Prefer: wait`).
   * Default: true. Without it the session learns of the decision at the next interval: for programs whose requests must
   * be short.
   */
  readonly holdPolls?: boolean | undefined
  /**
   * `User-Agent` of the requests; the consent page shows it as the name of the device. Browsers do not let programs set
   * it.
   */
  readonly userAgent?: string | undefined
}

/** The part of the client that works everywhere, including web pages. */
export interface PageClient {
  /**
   * The dialog: a window in which the user grants or rejects the request. For web pages, and for servers that exchange
   * its codes.
   */
  readonly dialog: Dialog
  /**
   * The platform's `fetch` with the credential added. Renews the token before it expires, and once more after a 401.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** The stored credentials, or null. Treat them as a secret. */
  credentials(options?: CallOptions): Promise<Credentials | null>
  /** The value to send after `Authorization: Bearer`, renewed if necessary. For callers that do not use `fetch`. */
  bearer(options?: CallOptions): Promise<string>
  /**
   * Renews the token set now, for example after an API rejected it. Rarely needed: `fetch` and `bearer` renew in time. If
   * another process has renewed it meanwhile, its token set is returned. Throws `not_authorized` if there is no token
   * set, `reauthorize` if the access has ended.
   */
  refresh(options?: CallOptions): Promise<TokenSet>
  /** Whether all of these scopes were granted. */
  hasGranted(scopes: string | readonly string[], options?: CallOptions): Promise<boolean>
  /** Revokes the access at the service, then clears the store. */
  revoke(options?: CallOptions): Promise<void>
  /** Adds a listener. Returns a function that removes it. */
  on<K extends keyof ClientEvents>(name: K, listener: (value: ClientEvents[K]) => void): () => void
}

export interface Client extends PageClient {
  /** The device flow: a code to show, and polling until the user has decided. */
  readonly device: Device
  /**
   * Replaces the access key by a new one. The old key works for one more day, so that programs that still hold it do
   * not break.
   */
  rotateKey(options?: CallOptions): Promise<AccessKey>
}

/**
 * Creates the client of an application, for one user.
 *
 * @example A device that asks for access once, and then calls the API
 * ```ts
 * import { createClient } from '@latchkey/sdk'
 *
 * const client = createClient({
 *   baseUrl: 'https://service.example',
 *   appId: 'app_n61zbfpywkrj',
 *   appSecret: process.env.LATCHKEY_APP_SECRET,
 * })
 * const session = await client.device.start({ variant: 'token_set', scope: ['orders:read'] })
 * console.log(`Enter ${session.displayCode} at ${session.verificationUrl}`)
 * await session.wait()
 * const response = await client.fetch('https://service.example/1/me')
 * console.log(await response.json())
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const { client, context, tokens } = createParts(options)
  return {
    ...client,
    device: createDevice(context, tokens),
    rotateKey: ({ signal } = {}) => unlessAborted(() => rotateKey(context, tokens), signal),
  }
}

type Parts = { readonly client: PageClient; readonly context: Context; readonly tokens: Tokens }

/** Creates everything but the device flow, which pages do not use, so that bundles for pages do not contain it. */
export function createParts(options: ClientOptions): Parts {
  const { appId, appSecret, clock = systemClock, store = memoryStore(), userAgent, allowInsecureRequests } = options
  if (!appId) throw new LatchkeyError('invalid_request', { message: 'appId is missing.' })
  if (appSecret && 'document' in globalThis) throw new LatchkeyError('secret_in_browser')
  const headers = userAgent ? { 'user-agent': userAgent } : undefined
  const wire = createWire({ baseUrl: options.baseUrl, fetch: options.fetch, clock, headers, allowInsecureRequests })

  const listeners: { [K in keyof ClientEvents]: Set<(value: ClientEvents[K]) => void> } = {
    tokens: new Set(),
    reauthorize: new Set(),
  }
  const context: Context = {
    wire,
    clock,
    store,
    holdPolls: options.holdPolls ?? true,
    application: appSecret ? { SVCappid: appId, SVCsecret: appSecret } : { SVCappid: appId },
    emit: (name, value) => {
      for (const listener of listeners[name]) inform(listener, value)
    },
  }
  const tokens = createTokens(context)

  const client: PageClient = {
    dialog: createDialog(context, tokens),
    fetch: authorizedFetch(tokens, options),
    credentials: ({ signal } = {}) => unlessAborted(tokens.read, signal),
    bearer: async ({ signal } = {}) => bearerOf(await unlessAborted(tokens.fresh, signal)),
    refresh: ({ signal } = {}) => unlessAborted(tokens.refresh, signal),
    hasGranted: async (scopes, { signal } = {}) => {
      const kept = await unlessAborted(tokens.read, signal)
      return kept !== null && scopeList(scopeText(scopes)).every((scope) => kept.scope.includes(scope))
    },
    revoke: ({ signal } = {}) => unlessAborted(tokens.revoke, signal),
    on: (name, listener) => {
      listeners[name].add(listener)
      return () => listeners[name].delete(listener)
    },
  }
  return { client, context, tokens }
}

/** Calls a listener. Its exceptions are rethrown asynchronously: they must not interrupt storing a token set. */
function inform<T>(listener: (value: T) => void, value: T): void {
  try {
    listener(value)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
