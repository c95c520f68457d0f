/** Errors say what happened and what to do, and contain no secrets. */
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import type { Credentials, Store } from '../../src/index.ts'
import { failure } from '../rig/failure.ts'
import { importSdk } from '../rig/packed.ts'
import {
  ACCESS,
  EVERY_SECRET,
  json,
  lost,
  REFRESH,
  record,
  refusal,
  type Script,
  type Scripted,
  scripted,
  USER_CODE,
} from '../rig/scripted.ts'

const { ERROR_CODES, isLatchkeyError, LatchkeyError, memoryStore } = await importSdk()

const everything = EVERY_SECRET.join(' ')

/** A proxy that echoes the request, and a service that reveals secrets. */
const chatty: [string, Script | Response | Error][] = [
  [
    'refusal',
    ({ form }) => json(400, { error: 'invalid_request', message: `bad: ${JSON.stringify(form)} ${everything}` }),
  ],
  ['word', json(400, { error: everything })],
  ['header', refusal('invalid_scope', { 'x-latchkey-echo': everything })],
  ['page', ({ form }) => new Response(`<h1>${JSON.stringify(form)} ${everything}</h1>`, { status: 403 })],
  ['fault', Object.assign(new TypeError(`fetch failed for ${everything}`), { cause: { code: everything } })],
  ['outage', json(503, { error: 'unavailable', message: everything })],
  [
    'half an answer',
    new Response(`{"access_token":"${ACCESS}","user_code":"${USER_CODE}","refresh_token":"${REFRESH}`),
  ],
]

function expectSilence(error: unknown): void {
  expect(error).toBeInstanceOf(LatchkeyError)
  const { stack, message } = error as Error
  const shown = [message, stack, String(error), inspect(error, { depth: 9, showHidden: true }), JSON.stringify(error)]
  for (const secret of EVERY_SECRET) for (const text of shown) expect(text).not.toContain(secret)
}

const flows: [string, (service: Scripted, step: Script | Response | Error) => Promise<unknown>][] = [
  [
    'a code request',
    ({ client, next }, step) => {
      next(step)
      return client.device.start({ variant: 'token_set', state: everything })
    },
  ],
  [
    'a poll',
    async ({ client, clock, next }, step) => {
      next(record())
      const session = await client.device.start({ variant: 'token_set' })
      next(step)
      return clock.during(session.wait())
    },
  ],
  [
    'a refresh',
    async ({ client, clock, next }, step) => {
      next(step)
      await clock.pass(3_700_000)
      return clock.during(client.bearer())
    },
  ],
  [
    'a revocation',
    ({ client, clock, next }, step) => {
      next(step)
      return clock.during(client.revoke())
    },
  ],
]

const held: Credentials = {
  variant: 'token_set',
  accessToken: ACCESS,
  refreshToken: REFRESH,
  issuedAt: 1_700_000_000_000,
  expiresAt: 1_700_003_600_000,
  scope: [],
  state: '',
}

test.each(flows.flatMap(([flow, run]) => chatty.map(([name, step]) => [flow, name, run, step] as const)))(
  'the error of %s keeps to itself what was in a %s',
  async (_flow, _in, run, step) => {
    expectSilence(await failure(run(scripted({ store: memoryStore(held) }), step)))
  },
)

test('the error of a failing store does not contain the credentials', async () => {
  const store: Store = {
    ...memoryStore(held),
    read: () => Promise.reject(new Error(`cannot parse ${everything}`)),
  }
  expectSilence(await failure(scripted({ store }).client.bearer()))
})

test('every code has a message that says what to do', () => {
  const messages = ERROR_CODES.map((code) => new LatchkeyError(code).message)
  expect(new Set(messages).size).toBe(ERROR_CODES.length)
  for (const message of messages) expect(message).toMatch(/^[A-Z].{20,}\.$/)
})

test('an error is recognised, by its code as well, also if it comes from another copy of this package', async () => {
  const service = scripted()
  service.next(lost())
  const error = await failure(service.client.device.start({ variant: 'token_set' }))
  expect([isLatchkeyError(error), isLatchkeyError(error, 'network'), isLatchkeyError(error, 'store')]).toEqual([
    true,
    true,
    false,
  ])
  class LatchkeyErrorOfAnotherCopy extends Error {
    override readonly name = 'LatchkeyError'
    readonly code = 'network'
  }
  expect(isLatchkeyError(new LatchkeyErrorOfAnotherCopy(), 'network')).toBe(true)
  expect([isLatchkeyError(new Error('network')), isLatchkeyError(null)]).toEqual([false, false])
})

test('a malformed request has the service’s message', async () => {
  const service = scripted()
  service.next(json(400, { error: 'invalid_request', message: 'The state is longer than 1024 bytes.' }))
  const error = await failure(service.client.device.start({ variant: 'token_set', state: 'x'.repeat(2000) }))
  expect(error).toMatchObject({ message: 'The service refused the request: The state is longer than 1024 bytes.' })
})

test('a secret is refused in a browser', () => {
  Object.assign(globalThis, { document: {} })
  try {
    expect(() => scripted()).toThrow(expect.objectContaining({ code: 'secret_in_browser' }))
    expect(scripted({ appSecret: undefined }).client).toBeTruthy()
  } finally {
    Reflect.deleteProperty(globalThis, 'document')
  }
})

test.each([
  [{ name: 'Error', code: 'ECONNREFUSED', syscall: 'connect', address: '10.0.0.7', port: 5432, message: everything }],
  [Object.assign(new Error(everything), { code: 'ECONNREFUSED', syscall: 'connect' })],
])('the cause of a network error has a name, a code and a system call, and nothing else', async (cause) => {
  const { client, clock, next } = scripted()
  next(Object.assign(new TypeError(everything), { cause }))
  const error = await failure(clock.during(client.device.start({ variant: 'token_set' })))
  expect(error).toMatchObject({ code: 'network', message: expect.stringContaining('ECONNREFUSED') })
  expect((error as Error).cause).toEqual({ name: 'Error', code: 'ECONNREFUSED', syscall: 'connect' })
})

test('the cause of a store error has the same', async () => {
  const broken = Object.assign(new Error(everything), { code: 'EACCES', syscall: 'open', path: '/home/ann/x' })
  const store: Store = { ...memoryStore(), read: () => Promise.reject(broken) }
  const error = await failure(scripted({ store }).client.credentials())
  expect(error).toMatchObject({ code: 'store', cause: { name: 'Error', code: 'EACCES', syscall: 'open' } })
  expect(Object.keys((error as { cause: object }).cause)).toHaveLength(3)
})
