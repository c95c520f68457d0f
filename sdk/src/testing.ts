/**
 * Fake service for applications' own tests: no network, no server, no waiting. It answers as Latchkey does, in memory,
 * and lets a test act as the user.
 */
import { type FakeAnswer, writeAnswer } from './testing/fake-answer.ts'
import { createFakeClock, type FakeClock } from './testing/fake-clock.ts'
import { decide, expire, hasOutcome } from './testing/fake-device.ts'
import { answerDialog } from './testing/fake-dialog.ts'
import { answerTo } from './testing/fake-routes.ts'
import { type FakeWorld, randomId, randomText } from './testing/fake-world.ts'

export type { FakeClock } from './testing/fake-clock.ts'

export interface FakeServiceOptions {
  /** Default `https://latchkey.test`. */
  readonly baseUrl?: string
  /** Whether the application is public: without a secret. Default false. */
  readonly public?: boolean
  /** Scopes that the application may request, and requests by default. Default `orders:read` and `orders:write`. */
  readonly scopes?: readonly string[]
  readonly redirectUris?: readonly string[]
  readonly deviceFlow?: boolean
  /** Seconds between polls. Default 5. */
  readonly interval?: number
  /** Seconds until a code expires. Default 600. */
  readonly codeLifetime?: number
  /** Seconds until an access token expires. Default 3600. */
  readonly accessTokenLifetime?: number
  /** Start time of the clock in epoch milliseconds. Default: now. */
  readonly startAt?: number
}

/** A recorded request and its outcome, without anything secret. */
export interface FakeRequest {
  readonly method: string
  readonly path: string
  /** Null if no response arrived, because of {@link FakeService.fail}. */
  readonly status: number | null
  /** The `error` of a refusal, in Latchkey's own dialect; null otherwise. */
  readonly error: string | null
  /** Time of the request, by the fake's clock. */
  readonly at: number
}

/**
 * `network`: the request never arrives. `lost_answer`: the request is processed, but its response is lost.
 * `unavailable`: 503 with `Retry-After`.
 */
export type FakeFault = 'network' | 'lost_answer' | 'unavailable'

export interface FakeService {
  readonly baseUrl: string
  readonly application: { readonly id: string; readonly secret: string }
  /** Id and secret of a resource server. */
  readonly resource: { readonly id: string; readonly secret: string }
  /** Replaces the global `fetch`. Requests to other origins are rejected with a TypeError. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  readonly clock: FakeClock
  /** Options for `createClient`. */
  readonly clientOptions: Readonly<FakeConnection & { appId: string; appSecret?: string }>
  /** Options for `createVerifier`. */
  readonly verifierOptions: Readonly<FakeConnection & { resourceId: string; resourceSecret: string }>
  /** Every request so far, in order. */
  readonly requests: readonly FakeRequest[]
  /**
   * Enters the code as the user and grants it. With `scope`, only these scopes are granted, as if the user lacked the
   * rest.
   */
  grant(userCode: string, given?: { readonly scope?: readonly string[] }): void
  /** Enters the code as the user and rejects it. */
  reject(userCode: string): void
  /** Lets the code expire. */
  expire(userCode: string): void
  /** Answers the dialog at this address as the user. Returns the address to which the window is redirected. */
  answerDialog(address: string, answer: 'allow' | 'cancel', given?: { readonly scope?: readonly string[] }): string
  /** Removes the application as the user: revokes everything granted so far. */
  removeAccess(): void
  /** Suspends the application: new codes and dialogs are refused until `restore`. */
  suspend(): void
  restore(): void
  /** Lets the next `times` requests (default 1) fail with this fault. */
  fail(fault: FakeFault, times?: number): void
}

type FakeConnection = { baseUrl: string; fetch: FakeService['fetch']; clock: FakeClock }

/**
 * Creates a fake service with one application and one user.
 *
 * @example A test without a network
 * ```ts
 * import { createClient } from '@latchkey/sdk'
 * import { createFakeService } from '@latchkey/sdk/testing'
 *
 * const service = createFakeService({ scopes: ['orders:read'] })
 * const client = createClient(service.clientOptions)
 * const session = await client.device.start({ variant: 'token_set' })
 * service.grant(session.userCode)
 * const { scope } = await session.wait()
 * console.log(scope.join(', '))
 * ```
 */
export function createFakeService(options: FakeServiceOptions = {}): FakeService {
  let inFlight = 0
  let faulty = false
  const { jump, ...clock } = createFakeClock(options.startAt ?? Date.now(), {
    busy: () => inFlight > 0,
    worthwhile: () => faulty || hasOutcome(world),
  })
  const world = createWorld(options, clock)
  const faults: FakeFault[] = []
  const requests: FakeRequest[] = []

  async function handle(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    const record = (status: number | null, error: string | null) =>
      requests.push({ method: request.method, path: pathname, status, error, at: clock.now() })
    const fault = faults.shift()
    faulty = fault !== undefined
    if (fault === 'network') {
      record(null, null)
      throw new TypeError('fetch failed')
    }
    const answer: FakeAnswer =
      fault === 'unavailable'
        ? { refusal: 'unavailable', headers: { 'retry-after': '2' } }
        : await answerTo(world, request, pathname)
    const response = writeAnswer(answer, pathname.startsWith('/oauth/') ? 'standard' : 'native')
    record(fault === 'lost_answer' ? null : response.status, 'refusal' in answer ? answer.refusal : null)
    if (fault === 'lost_answer') throw new TypeError('fetch failed')
    return response
  }

  const fakeFetch: FakeService['fetch'] = async (input, init) => {
    const request = new Request(input, init)
    if (new URL(request.url).origin !== new URL(world.baseUrl).origin) throw new TypeError('fetch failed')
    request.signal.throwIfAborted()
    inFlight += 1
    try {
      return await handle(request)
    } finally {
      inFlight -= 1
    }
  }

  /** Moves the clock after a decision, so that a polling client does not wait for it. */
  const afterwards =
    <Given extends readonly unknown[]>(act: (...given: Given) => void) =>
    (...given: Given): void => {
      act(...given)
      jump()
    }

  const { baseUrl, application, resource } = world
  const connection = { baseUrl, fetch: fakeFetch, clock }
  return {
    baseUrl,
    application: { id: application.id, secret: application.secret },
    resource,
    fetch: fakeFetch,
    clock,
    clientOptions: {
      ...connection,
      appId: application.id,
      ...(application.secret === '' ? {} : { appSecret: application.secret }),
    },
    verifierOptions: { ...connection, resourceId: resource.id, resourceSecret: resource.secret },
    requests,
    grant: afterwards((userCode, given) => decide(world, userCode, given?.scope ?? null)),
    reject: afterwards((userCode) => decide(world, userCode, 'reject')),
    expire: afterwards((userCode) => expire(world, userCode)),
    answerDialog: (address, answer, given) =>
      answerDialog(world, address, answer === 'cancel' ? 'cancel' : (given?.scope ?? null)),
    removeAccess: () => {
      for (const grant of world.grants) grant.revoked = true
    },
    suspend: () => {
      world.suspended = true
    },
    restore: () => {
      world.suspended = false
    },
    fail: (fault, times = 1) => {
      faults.push(...Array<FakeFault>(times).fill(fault))
    },
  }
}

function createWorld(options: FakeServiceOptions, clock: FakeClock): FakeWorld {
  const scopes = options.scopes ?? ['orders:read', 'orders:write']
  const id = () => randomId(12)
  return {
    baseUrl: (options.baseUrl ?? 'https://latchkey.test').replace(/\/+$/, ''),
    application: {
      id: `app_${id()}`,
      secret: options.public ? '' : `lks_${randomText(43)}`,
      allowedScopes: scopes,
      defaultScopes: scopes,
      deviceFlow: options.deviceFlow ?? true,
      redirectUris: options.redirectUris ?? ['https://app.test/callback'],
    },
    resource: { id: `app_${id()}`, secret: `lks_${randomText(43)}` },
    account: 'acme',
    user: `usr_${id()}`,
    lifetimes: {
      interval: options.interval ?? 5,
      code: options.codeLifetime ?? 600,
      accessToken: options.accessTokenLifetime ?? 3600,
    },
    codes: new Map(),
    dialogCodes: new Map(),
    grants: new Set(),
    credentials: new Map(),
    suspended: false,
    now: () => clock.now(),
  }
}
