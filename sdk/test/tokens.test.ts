/**
 * The packed library and the real server over the lifetime of a token set.
 * docs/interface/credentials.md, "The life of a token set".
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { askMe, connect } from '../../server/test/rig/connect.ts'
import { grantEvents, grantLine } from '../../server/test/rig/credentials.ts'
import { startTestService, type TestService } from '../../server/test/rig/service.ts'
import { systemClock } from '../src/clock.ts'
import type { Client, ClientOptions, Clock, Credentials, Store } from '../src/index.ts'
import { failure } from './rig/failure.ts'
import { type Fault, startFaultProxy } from './rig/fault-proxy.ts'
import { entryOf, importNode, importSdk } from './rig/packed.ts'

const { createClient, memoryStore } = await importSdk()
const { fileStore } = await importNode()
const run = promisify(execFile)

let service: TestService
/** How far the application's clock is ahead; the service's is moved as well. */
let ahead = 0
const clock: Clock = { now: () => systemClock.now() + ahead, sleep: systemClock.sleep }

beforeAll(async () => {
  service = await startTestService({}, { clock: true })
})
afterAll(() => service.stop())

async function pass(ms: number): Promise<void> {
  await service.database.advance(ms)
  await service.context.applications.refresh()
  ahead += ms
}

type Holding = { readonly client: Client; readonly store: Store; readonly grantId: string; readonly held: Credentials }

async function holding(
  variant: 'token_set' | 'access_key' = 'token_set',
  options: Partial<ClientOptions> = {},
): Promise<Holding> {
  const { grantId, credential, refreshToken } = await connect(service, {
    variant: variant === 'access_key' ? 'key' : 'oauth',
  })
  const [issuedAt, scope, state] = [clock.now(), ['orders:read', 'orders:write'], '']
  const held: Credentials =
    variant === 'access_key'
      ? { variant, accessKey: credential, scope, state }
      : { variant, accessToken: credential, refreshToken, issuedAt, expiresAt: issuedAt + 3_600_000, scope, state }
  const store = options.store ?? memoryStore()
  await store.write(held)
  const { id, secret } = service.application
  const client = createClient({ baseUrl: service.address, appId: id, appSecret: secret, clock, ...options, store })
  return { client, store, grantId, held }
}

const me = (client: Client): Promise<Response> => client.fetch(`${service.address}/me`)

describe('a token set', () => {
  test('is refreshed before it expires, and again, and every one is valid', async () => {
    const { client, grantId } = await holding()
    for (const generation of [2, 3, 4]) {
      await pass(3_500_000)
      expect((await me(client)).status).toBe(200)
      expect(await grantLine(service, grantId)).toMatchObject({ generation, revocation_reason: null })
    }
  })

  test('that expired while the application slept is refreshed by the first request', async () => {
    const { client } = await holding()
    await pass(7_200_000)
    const answers = await Promise.all(Array.from({ length: 10 }, () => me(client)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
  })

  test('on a machine with a wrong clock is refreshed when it is refused', async () => {
    const { client, grantId } = await holding()
    // A token's expiry is rounded up to a whole second.
    await service.database.advance(3_601_000)
    await service.context.applications.refresh()
    ahead += 10_000
    expect((await me(client)).status).toBe(200)
    expect(await grantLine(service, grantId)).toMatchObject({ generation: 2 })
    ahead += 3_591_000
  })

  test.each<Fault>(['answer_lost', 'body_cut', 'bad_gateway', 'question_doubled'])(
    'is not lost with the answer to its refresh: %s',
    async (fault) => {
      let left = 3
      const proxy = await startFaultProxy(service.address, () => {
        left -= 1
        return { fault: left >= 0 ? fault : 'none' }
      })
      onTestFinished(() => proxy.close())
      const { client, grantId, store } = await holding('token_set', { baseUrl: proxy.address })
      await pass(3_600_000)
      expect((await askMe(service, await client.bearer())).status).toBe(200)
      expect(await grantLine(service, grantId)).toMatchObject({ generation: 2, revocation_reason: null })
      await pass(3_600_000)
      expect((await askMe(service, await client.bearer())).status).toBe(200)
      expect(await store.read()).toMatchObject({ variant: 'token_set' })
    },
  )

  test('shared by several processes is refreshed by one of them, and all use it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'latchkey-share-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const path = join(folder, 'credentials.json')
    const { grantId, held } = await holding('token_set', { store: fileStore({ path }) })
    await fileStore({ path }).write({ ...held, ...{ issuedAt: Date.now() - 3_600_000, expiresAt: Date.now() - 1 } })
    const { id, secret } = service.application
    const program = `
      import { createClient } from ${JSON.stringify(await entryOf('.'))}
      import { fileStore } from ${JSON.stringify(await entryOf('./node'))}
      const store = fileStore({ path: ${JSON.stringify(path)} })
      const client = createClient({ ...${JSON.stringify({ baseUrl: service.address, appId: id, appSecret: secret })}, store })
      const answers = await Promise.all([1, 2, 3].map(() => client.fetch(${JSON.stringify(`${service.address}/me`)})))
      console.log(answers.map(({ status }) => status).join())`
    const processes = Array.from({ length: 6 }, () => run(process.execPath, ['--input-type=module', '-e', program]))
    const said = await Promise.all(processes)
    expect(said.map(({ stdout }) => stdout.trim())).toEqual(Array(6).fill('200,200,200'))
    expect(await grantLine(service, grantId)).toMatchObject({ generation: 2, revocation_reason: null })
  })
})

describe('when the grant has ended', () => {
  test('because a copy was used, the application has to ask the user again', async () => {
    const { client, store, held, grantId } = await holding()
    await pass(3_600_000)
    expect((await me(client)).status).toBe(200)
    await service.context.grantCache.saveUses()
    await pass(60_000)
    await store.write({ ...held })
    const told: string[] = []
    client.on('reauthorize', ({ code }) => told.push(code))
    expect(await failure(client.bearer())).toMatchObject({ code: 'reauthorize', refusal: 'invalid_grant' })
    expect(told).toEqual(['reauthorize'])
    expect(await grantEvents(service, grantId)).toMatchObject([{ kind: 'grant.revoked' }])
  })

  test('because it was revoked elsewhere, the refused request reports it', async () => {
    const { client, store } = await holding()
    const { id, secret } = service.application
    const other = createClient({
      baseUrl: service.address,
      appId: id,
      appSecret: secret,
      store: memoryStore(await store.read()),
    })
    await pass(60_000)
    await other.revoke()
    await expect.poll(async () => (await askMe(service, await client.bearer())).status).toBe(401)
    expect(await failure(me(client))).toMatchObject({ code: 'reauthorize' })
  })
})

test('an access key is rotated without a gap', async () => {
  const { client, grantId } = await holding('access_key')
  const old = await client.bearer()
  await client.rotateKey()
  expect(await client.bearer()).not.toBe(old)
  expect((await me(client)).status).toBe(200)
  expect((await askMe(service, old)).status).toBe(200)
  expect(await grantLine(service, grantId)).toMatchObject({ key: 2 })
})

test.each(['token_set', 'access_key'] as const)('revoking ends the grant of the %s variant', async (variant) => {
  const { client, grantId } = await holding(variant)
  const bearer = await client.bearer()
  await client.revoke()
  expect(await grantLine(service, grantId)).not.toMatchObject({ revocation_reason: null })
  await expect.poll(async () => (await askMe(service, bearer)).status).toBe(401)
  expect(await failure(client.bearer())).toMatchObject({ code: 'not_authorized' })
})
