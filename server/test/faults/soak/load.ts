/**
 * The load of a soak: devices of both variants and of the standard dialect, dialogs, users who decide on pages, credentials
 * that are checked, refreshed, rotated and revoked, and somebody who reads the consoles. Each goes on through faults as a real
 * client does, and what it hears is judged.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_HINT_MS } from '../../../src/gate/gate.ts'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { explain } from '../../history/check.ts'
import { type Answer, History, isPending, plain, readPoll } from '../../history/history.ts'
import { between } from '../../model/suspension-traffic.ts'
import { askVerify } from '../../races/issued-grants.ts'
import { postNative, postStandard } from '../../rig/credentials.ts'
import { type CodeRecord, Device, type WireAnswer, type WireVariant } from '../../rig/device.ts'
import { allow, exchange, refresh } from '../../rig/dialog.ts'
import type { MadeApplication } from '../../rig/make.ts'
import type { TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { attempt, isServed, untilServed } from '../messages/flow.ts'
import { Visitor } from '../visitor.ts'
import type { Person } from './person.ts'

export type FlowCounts = {
  /** Flows that ended as they should. */
  done: number
  /** The answer with the outcome was lost, with its process or its connection. */
  unheard: number
  /** The client gave up. */
  unfinished: number
  histories: number
  pages: number
}

type Given = {
  /** One per server, at the account of the people. */
  readonly services: readonly TestService[]
  /** At the operators' account. */
  readonly own: TestService
  readonly applications: { readonly device: MadeApplication; readonly dialog: MadeApplication }
  readonly people: readonly Person[]
  readonly random: () => number
}

export type SoakLoad = {
  readonly ends: Readonly<FlowCounts>
  readonly problems: readonly string[]
  /** Resolves when nothing is on its way. */
  pause(): Promise<void>
  resume(): void
  finish(): Promise<void>
  /** Why the last client that gave up did so. */
  gaveUp(): string
}

/** A pending answer may be as old as a hint, and as the longest fault with its recovery. */
const PENDING_MAY_BE_OLD_MS = MAX_HINT_MS + 15_000

/** Pause between two flows of a user. A user may enter 20 codes in ten minutes; the clock passes these at the end of each month. */
const USER_PAUSE_MS = { min: 1_000, max: 2_500 }
const CONSOLE_PAUSE_MS = { min: 100, max: 600 }

type Range = { readonly min: number; readonly max: number }

const POLLS = 60
const INTERVAL_MS = 1_000

/** A revocation is known everywhere two seconds after PostgreSQL answers again. */
const REVOKED_WITHIN_MS = 30_000

/** Names of the standard dialect for the outcomes of a poll. */
const OUTCOMES: Readonly<Record<string, string>> = {
  authorization_pending: 'auth_pending',
  slow_down: 'slow_down',
  access_denied: 'auth_rejected',
  expired_token: 'auth_expired',
  invalid_grant: 'invalid',
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** Pages with a table or a chart, without parameters. */
const CONSOLE_PAGES = pageRoutes
  .filter(({ method, access }) => method === 'GET' && access !== 'anyone')
  .map(({ path }) => path)
  .filter((path) => path === '/' || /^\/(account|applications|developer|operator|security)/.test(path))

type Way = 'oauth' | 'key' | 'standard'

export function startSoakLoad({ services, own, applications, people, random }: Given): SoakLoad {
  const ends: FlowCounts = { done: 0, unheard: 0, unfinished: 0, histories: 0, pages: 0 }
  const problems: string[] = []
  let [paused, over] = [false, false]
  let wake: () => void = () => {}
  let woken = Promise.resolve()
  const resting = new Set<number>()

  const anyService = () => services[between(random, 0, services.length - 1)] as TestService

  async function live(lane: number, flow: () => Promise<keyof FlowCounts>, pauseMs: Range): Promise<void> {
    while (!over) {
      if (paused) {
        resting.add(lane)
        await woken
        resting.delete(lane)
        continue
      }
      const end = await flow().catch((error: Error): keyof FlowCounts => {
        lastFailure = error.message
        return 'unfinished'
      })
      ends[end] += 1
      await sleep(between(random, pauseMs.min, pauseMs.max))
    }
    resting.add(lane)
  }
  let lastFailure = ''

  async function connectDevice(person: Person, way: Way): Promise<keyof FlowCounts> {
    const history = new History()
    const device = deviceOf(anyService(), applications.device, way)
    let calledAt = 0
    const requested = await untilServed(null, () => {
      calledAt = performance.now()
      return device.request()
    })
    if (requested.status !== 200) return wrong(`a code request was answered ${requested.text}`)
    const record: CodeRecord = requested.body
    history.requested(calledAt, record.expires_in)
    history.pendingMayBeOld(PENDING_MAY_BE_OLD_MS)
    const decision = random() < 0.75 ? 'grant' : 'reject'
    const polling = collect(history, record, way)
    await sleep(between(random, 0, 2_000))
    const visitor = new Visitor({ history, record }, person.user, person.web)
    await visitor.enterAgain()
    await visitor.decide(decision)
    await visitor.decideAgain(decision)
    const heard = await polling
    ends.histories += 1
    const explained = explain(history.operations)
    if (explained !== null) return wrong(explained)
    if (heard === null) return wrong(`a device never heard of a decision (${decision})`)
    // The history allows it only after a poll without an answer.
    if (heard.is === 'invalid') return 'unheard'
    if (heard.is !== (decision === 'grant' ? 'accepted' : 'auth_rejected'))
      return wrong(`the user pressed ${decision}, the device heard ${heard.is}`)
    return heard.body ? use(applications.device, heard.body, way) : 'done'
  }

  async function collect(
    history: History,
    { device_code }: CodeRecord,
    way: Way,
  ): Promise<(Answer & { readonly body: WireAnswer['body'] | null }) | null> {
    // The client of the standard dialect sends no header of its own.
    const key = way !== 'standard' && random() < 0.5 ? `soak-${device_code.slice(-12)}` : null
    for (let poll = 0; poll < POLLS; poll += 1) {
      const device = deviceOf(anyService(), applications.device, way)
      const headers = { ...(key && { 'idempotency-key': key }), ...(random() < 0.3 && { prefer: 'wait=3' }) }
      const call = { do: 'poll', key, path: 'own' } as const
      const answer = await attempt(() => history.record(call, () => device.poll(device_code, headers), device.read))
      const read = answer && device.read(answer)
      if (answer && read && !isPending(read)) return { ...read, body: read.is === 'accepted' ? answer.body : null }
      await sleep(INTERVAL_MS)
    }
    return null
  }

  async function connectDialog(person: Person): Promise<keyof FlowCounts> {
    const service = anyService()
    const allowed = await untilDone(() => allow(service, { application: applications.dialog, user: person.user }))
    let lost = false
    const send = async () => {
      const answer = await attempt(() => exchange(anyService(), applications.dialog, allowed))
      lost ||= !isServed(answer)
      return answer ?? Promise.reject(new Error('no answer'))
    }
    const answer = await untilServed(null, send)
    if (answer.status !== 200) return lost ? 'unheard' : wrong(`an exchange was answered ${answer.text}`)
    return use(applications.dialog, answer.body, 'oauth')
  }

  /** Checks, renews and revokes what was issued. */
  async function use(application: MadeApplication, issued: WireAnswer['body'], way: Way): Promise<keyof FlowCounts> {
    let credential: string = issued.access_token ?? issued.access_key
    let refreshToken: string | undefined = issued.refresh_token
    await expectStatus(credential, 200)
    for (let step = 0; step < 2; step += 1) {
      const renewed = await untilServed(null, () => renew(application, way, credential, refreshToken))
      if (renewed.status !== 200) return wrong(`a credential was not renewed: ${renewed.text}`)
      credential = renewed.body.access_token ?? renewed.body.access_key
      refreshToken = renewed.body.refresh_token
      await expectStatus(credential, 200)
      if (way === 'key') break
    }
    const revoked = await untilServed(null, () => revoke(application, way, credential))
    if (revoked.status !== 200) return wrong(`a revocation was answered ${revoked.text}`)
    const invalid = await becomesInvalid(credential)
    if (invalid === null) return 'unfinished'
    return invalid ? 'done' : wrong('a revoked credential is still valid')
  }

  function renew(application: MadeApplication, way: Way, credential: string, refreshToken = ''): Promise<WireAnswer> {
    const service = anyService()
    if (way === 'key') return postNative(service, application, '/auth/key/rotate', { access_key: credential })
    if (way === 'oauth') return refresh(service, application, refreshToken)
    return postStandard(service, application, '/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
    })
  }

  function revoke(application: MadeApplication, way: Way, credential: string): Promise<WireAnswer> {
    if (way === 'standard') return postStandard(anyService(), application, '/oauth/revoke', { token: credential })
    const name = way === 'key' ? 'access_key' : 'token'
    return postNative(anyService(), application, `/auth/${way}/revoke`, { [name]: credential })
  }

  async function expectStatus(credential: string, expected: number): Promise<void> {
    const ask = async () => ({ status: await askVerify(anyService().address, credential) })
    const { status } = await untilServed(null, ask)
    if (status !== expected) problems.push(`a credential was answered ${status} instead of ${expected}`)
  }

  /** Null: a server did not say so in time. */
  async function becomesInvalid(credential: string): Promise<boolean | null> {
    let statuses: readonly (number | null)[] = []
    for (const until = performance.now() + REVOKED_WITHIN_MS; performance.now() < until; await sleep(250)) {
      statuses = await Promise.all(services.map(({ address }) => attempt(() => askVerify(address, credential))))
      if (statuses.every((status) => status === 401)) return true
    }
    return statuses.includes(200) ? false : null
  }

  let visited = 0
  async function readConsole(): Promise<keyof FlowCounts> {
    const service = anyService()
    const web = await untilDone(() => signInAs(service, own.user, { account: own.account }))
    const path = CONSOLE_PAGES[visited % CONSOLE_PAGES.length] ?? '/'
    visited += 1
    await untilServed(null, () => web.get(path))
    return 'pages'
  }

  function wrong(problem: string): keyof FlowCounts {
    problems.push(problem)
    return 'done'
  }

  const ways: readonly Way[] = ['oauth', 'key', 'standard']
  const flows = people.map(
    (person, at) => () =>
      at % 4 === 3 ? connectDialog(person) : connectDevice(person, ways[between(random, 0, 2)] as Way),
  )
  const lanes = [
    live(flows.length, readConsole, CONSOLE_PAUSE_MS),
    ...flows.map((flow, lane) => live(lane, flow, USER_PAUSE_MS)),
  ]
  return {
    ends,
    problems,
    pause: async () => {
      woken = new Promise((resolve) => {
        wake = resolve
      })
      paused = true
      while (resting.size < lanes.length) await sleep(100)
    },
    resume: () => {
      paused = false
      wake()
    },
    finish: async () => {
      over = true
      wake()
      await Promise.all(lanes)
    },
    gaveUp: () => lastFailure,
  }
}

const TRIES = 8

/** From the beginning, as a user does after an error. */
async function untilDone<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work()
    } catch (error) {
      if (tried === TRIES) throw error
      await sleep(INTERVAL_MS)
    }
  }
}

type AnyDevice = {
  request(): Promise<WireAnswer>
  poll(deviceCode: string, headers: Record<string, string>): Promise<WireAnswer>
  read(answer: WireAnswer): Answer | null
}

function deviceOf(service: TestService, application: MadeApplication, way: Way): AnyDevice {
  if (way !== 'standard') {
    const device = new Device(service.address, application, way satisfies WireVariant)
    return { request: () => device.request(), poll: (code, headers) => device.poll(code, headers), read: readPoll }
  }
  return {
    request: () => postStandard(service, application, '/oauth/device_authorization', {}),
    poll: (device_code) =>
      postStandard(service, application, '/oauth/token', { grant_type: DEVICE_GRANT, device_code }),
    read: (answer) => {
      if (answer.status !== 400) return readPoll(answer)
      return plain(OUTCOMES[answer.body.error] ?? String(answer.body.error))
    },
  }
}
