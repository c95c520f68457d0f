/**
 * A service for application developers' own tests: no network, no server, no waiting. It answers as Latchkey does, in memory,
 * and lets a test do what the user would.
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
  /** A public application has no secret. */
  readonly public?: boolean
  /** What the application may ask for; asked for by default, too. */
  readonly scopes?: readonly string[]
  readonly redirectUris?: readonly string[]
  readonly deviceFlow?: boolean
  /** Seconds between polls. Default 5. */
  readonly interval?: number
  /** Seconds until a code expires. Default 900. */
  readonly codeLifetime?: number
  /** Seconds until an access token expires. Default 3600. */
  readonly accessTokenLifetime?: number
  /** Where the clock starts, epoch milliseconds. Default: now. */
  readonly startAt?: number
}

/** What became of a request, without anything secret. */
export interface FakeRequest {
  readonly method: string
  readonly path: string
  /** Null: no answer arrived, because of {@link FakeService.fail}. */
  readonly status: number | null
  /** The `error` of a refusal. */
  readonly error: string | null
  /** By the fake's clock. */
  readonly at: number
}

/**
 * `network`: the request never arrives. `lost_answer`: it arrives and is done, and the answer is lost on the way.
 * `unavailable`: 503 with `Retry-After`.
 */
export type FakeFault = 'network' | 'lost_answer' | 'unavailable'

export interface FakeService {
  readonly baseUrl: string
  readonly application: { readonly id: string; readonly secret: string }
  /** Credentials of a resource server. */
  readonly resource: { readonly id: string; readonly secret: string }
  /** In place of the global `fetch`. What is not the service's is refused with a TypeError. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  readonly clock: FakeClock
  /** For `createClient`. */
  readonly clientOptions: Readonly<FakeConnection & { appId: string; appSecret?: string }>
  /** For `createVerifier`. */
  readonly verifierOptions: Readonly<FakeConnection & { resourceId: string; resourceSecret: string }>
  /** Every request so far, in order. */
  readonly requests: readonly FakeRequest[]
  /** The user types the code and allows. With `scope`: the user lacks the rest. */
  grant(userCode: string, given?: { readonly scope?: readonly string[] }): void
  /** The user types the code and says no. */
  reject(userCode: string): void
  /** The code's time is over. */
  expire(userCode: string): void
  /** The user answers the dialog at this address. Returns where the window goes then. */
  answerDialog(address: string, answer: 'allow' | 'cancel', given?: { readonly scope?: readonly string[] }): string
  /** The user removes the application: all that was granted so far ends. */
  removeAccess(): void
  /** New codes and dialogs are refused until `restore`. */
  suspend(): void
  restore(): void
  /** The next requests meet this fault. */
  fail(fault: FakeFault, times?: number): void
}

type FakeConnection = { baseUrl: string; fetch: FakeService['fetch']; clock: FakeClock }

/** A fresh service with one application and one user. */
export function createFakeService(options: FakeServiceOptions = {}): FakeService {
  let underWay = 0
  let faulty = false
  const { jump, ...clock } = createFakeClock(options.startAt ?? Date.now(), {
    busy: () => underWay > 0,
    worthwhile: () => faulty || hasOutcome(world),
  })
  const world = createWorld(options, clock)
  const faults: FakeFault[] = []
  const requests: FakeRequest[] = []

  async function meet(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    const note = (status: number | null, error: string | null) =>
      requests.push({ method: request.method, path: pathname, status, error, at: clock.now() })
    const fault = faults.shift()
    faulty = fault !== undefined
    if (fault === 'network') {
      note(null, null)
      throw new TypeError('fetch failed')
    }
    const answer: FakeAnswer =
      fault === 'unavailable'
        ? { refusal: 'unavailable', headers: { 'retry-after': '2' } }
        : await answerTo(world, request, pathname)
    const response = writeAnswer(answer, pathname.startsWith('/oauth/') ? 'standard' : 'house')
    note(fault === 'lost_answer' ? null : response.status, 'refusal' in answer ? answer.refusal : null)
    if (fault === 'lost_answer') throw new TypeError('fetch failed')
    return response
  }

  const fakeFetch: FakeService['fetch'] = async (input, init) => {
    const request = new Request(input, init)
    if (new URL(request.url).origin !== new URL(world.baseUrl).origin) throw new TypeError('fetch failed')
    request.signal.throwIfAborted()
    underWay += 1
    try {
      return await meet(request)
    } finally {
      underWay -= 1
    }
  }

  /** Whoever polls for what has just been decided need not wait for it. */
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
      code: options.codeLifetime ?? 900,
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
