/** The client: what an application makes once, with the parts that it is made of. */
import { authorizedFetch } from './authorized-fetch.ts'
import { type Clock, systemClock } from './clock.ts'
import type { ClientEvents, Context } from './context.ts'
import { type AccessKey, bearerOf, type Credentials } from './credentials.ts'
import { createDevice, type Device } from './device.ts'
import { createDialog, type Dialog } from './dialog.ts'
import { LatchkeyError } from './errors.ts'
import { rotateKey } from './rotate-key.ts'
import type { Store } from './store.ts'
import { memoryStore } from './stores/memory.ts'
import { createTokens, type Tokens } from './tokens.ts'
import { createWire } from './wire.ts'

export interface ClientOptions {
  /** The service's own address, its `PUBLIC_URL`. */
  readonly baseUrl: string
  /** `app_…` */
  readonly appId: string
  /** `lks_…`; a public application has none. Never in a browser. */
  readonly appSecret?: string | undefined
  /** Where the credentials of one user are kept; in memory unless told otherwise. */
  readonly store?: Store | undefined
  /** Instead of the platform's own. */
  readonly fetch?: typeof globalThis.fetch | undefined
  readonly clock?: Clock | undefined
  /** What the device is called on the page where the user decides, where the platform lets a program say so. */
  readonly userAgent?: string | undefined
}

/** What a page needs, and every other application as well. */
export interface PageClient {
  /** The dialog: a window in which the user decides. For pages, and for the servers that exchange its codes. */
  readonly dialog: Dialog
  /** As the platform's `fetch`, with the credential: renewed in time, and once more if it is refused. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** What is kept, or null. Treat it as a secret. */
  credentials(): Promise<Credentials | null>
  /** The text after `Authorization: Bearer`, good to be sent now. For those who do not use `fetch`. */
  bearer(): Promise<string>
  /** Whether all of these scopes were granted. */
  hasGranted(...scopes: string[]): Promise<boolean>
  /** Ends the access at the service and forgets it here. */
  revoke(): Promise<void>
  /** Returns a function that ends listening. */
  on<K extends keyof ClientEvents>(name: K, listener: (value: ClientEvents[K]) => void): () => void
}

export interface Client extends PageClient {
  /** The device flow: a code to show, and polling until the user has decided. */
  readonly device: Device
  /** Replaces the access key by another one. The old one goes on working for a day, so nothing that holds it breaks. */
  rotateKey(): Promise<AccessKey>
}

export function createClient(options: ClientOptions): Client {
  const { client, context, tokens } = createParts(options)
  return { ...client, device: createDevice(context, tokens), rotateKey: () => rotateKey(context, tokens) }
}

type Parts = { readonly client: PageClient; readonly context: Context; readonly tokens: Tokens }

/** All but the device flow, which pages have no use for: what is not used is not loaded. */
export function createParts(options: ClientOptions): Parts {
  const { appId, appSecret, clock = systemClock, store = memoryStore(), userAgent } = options
  if (!appId) throw new LatchkeyError('invalid_request', { message: 'appId is missing.' })
  if (appSecret && 'document' in globalThis) throw new LatchkeyError('secret_in_browser')
  const headers = userAgent ? { 'user-agent': userAgent } : undefined
  const wire = createWire({ baseUrl: options.baseUrl, fetch: options.fetch, clock, headers })

  const listeners: { [K in keyof ClientEvents]: Set<(value: ClientEvents[K]) => void> } = {
    tokens: new Set(),
    reauthorize: new Set(),
  }
  const context: Context = {
    wire,
    clock,
    store,
    application: appSecret ? { SVCappid: appId, SVCsecret: appSecret } : { SVCappid: appId },
    tell: (name, value) => {
      for (const listener of listeners[name]) inform(listener, value)
    },
  }
  const tokens = createTokens(context)

  const client: PageClient = {
    dialog: createDialog(context, tokens),
    fetch: authorizedFetch(tokens, options.fetch),
    credentials: tokens.read,
    bearer: async () => bearerOf(await tokens.fresh()),
    hasGranted: async (...scopes) => {
      const kept = await tokens.read()
      return kept !== null && scopes.every((scope) => kept.scope.includes(scope))
    },
    revoke: tokens.revoke,
    on: (name, listener) => {
      listeners[name].add(listener)
      return () => listeners[name].delete(listener)
    },
  }
  return { client, context, tokens }
}

/** A listener that throws is a bug of its own, and no reason to lose a token set. */
function inform<T>(listener: (value: T) => void, value: T): void {
  try {
    listener(value)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
