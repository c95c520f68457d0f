/** The packed library and the real server, from the code request to credentials that work. docs/interface.md, "What the service does". */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { askMe } from '../../server/test/rig/connect.ts'
import { makeApplication } from '../../server/test/rig/make.ts'
import { startTestService, type TestService } from '../../server/test/rig/service.ts'
import { digestOf } from '../../server/test/rig/witness.ts'
import type { Client, ClientOptions, DeviceSession, Variant } from '../src/index.ts'
import { failure } from './rig/failure.ts'
import { type Fault, startFaultProxy } from './rig/fault-proxy.ts'
import { hastyClock } from './rig/hasty-clock.ts'
import { entryOf, importSdk } from './rig/packed.ts'

const { createClient } = await importSdk()
const run = promisify(execFile)

let service: TestService
beforeAll(async () => {
  service = await startTestService({ POLL_INTERVAL: '1' }, { clock: true })
})
afterAll(() => service.stop())

function clientOf(options: Partial<ClientOptions> = {}): Client {
  const { id, secret } = service.application
  return createClient({ baseUrl: service.address, appId: id, appSecret: secret, clock: hastyClock, ...options })
}

/** All polls of a session, in order. */
function listenTo(session: DeviceSession): { readonly heard: readonly string[]; readonly ended: Promise<void> } {
  const heard: string[] = []
  const listen = async () => {
    for await (const { type } of session) heard.push(type)
  }
  return { heard, ended: listen() }
}

describe.each<Variant>(['token_set', 'access_key'])('in the %s variant', (variant) => {
  test('a code that the user grants becomes a credential that works, kept by the client', async () => {
    const client = clientOf({ clock: undefined })
    const session = await client.device.start({ variant, scope: ['orders:read'], state: 'küche & "bad"' })
    expect(session.displayCode.replaceAll(' ', '')).toBe(session.userCode)
    const waiting = session.wait()
    const { heard, ended } = listenTo(session)
    await expect.poll(() => service.context.heldPolls.count, { timeout: 20_000 }).toBe(1)
    expect(await service.grant(session.userCode)).toBe('granted')
    expect(await waiting).toMatchObject({ variant, scope: ['orders:read'], state: 'küche & "bad"' })
    await ended
    expect(heard, 'by the first poll, which was held').toEqual(['accepted'])
    const { status, body } = await askMe(service, await client.bearer())
    expect([status, body.user]).toEqual([200, service.user.id])
    expect((await client.fetch(`${service.address}/me`)).status).toBe(200)
    expect(await client.hasGranted('orders:read')).toBe(true)
  })

  test('a code that the user rejects ends with auth_rejected', async () => {
    const session = await clientOf().device.start({ variant })
    expect(await service.reject(session.userCode)).toBe('rejected')
    expect(await failure(session.wait())).toMatchObject({ code: 'auth_rejected' })
  })

  test('an expired code ends with code_expired', async () => {
    const session = await clientOf().device.start({ variant })
    await service.database.advance(601_000)
    expect(await failure(session.wait())).toMatchObject({ code: 'code_expired' })
  })

  test('a code collected elsewhere ends with code_used', async () => {
    const session = await clientOf().device.start({ variant })
    await service.grant(session.userCode)
    await service.device(variant === 'access_key' ? 'key' : 'oauth').poll(session.toJSON().deviceCode)
    expect(await failure(session.wait())).toMatchObject({ code: 'code_used' })
  })

  test.each<Fault>(['answer_lost', 'head_cut', 'body_cut', 'bad_gateway', 'question_doubled'])(
    'an outcome is not lost with its answer: %s',
    async (fault) => {
      let left = 2
      const proxy = await startFaultProxy(service.address, (path) => {
        if (path.endsWith('/polling')) left -= 1
        return { fault: path.endsWith('/polling') && left >= 0 ? fault : 'none' }
      })
      onTestFinished(() => proxy.close())
      const client = clientOf({ baseUrl: proxy.address })
      const session = await client.device.start({ variant })
      await service.grant(session.userCode)
      const credentials = await session.wait()
      const outcomes = proxy.exchanges.filter(({ answer }) => answer.includes('"access_'))
      expect(outcomes.length).toBe(fault === 'question_doubled' ? 1 : 3)
      const texts = outcomes.map(({ answer }) => answer.split('\r\n\r\n')[1]?.replace(/"expires_in":\d+,/, ''))
      expect(new Set(texts).size, 'the same credentials, whatever time is left').toBe(1)
      expect((await askMe(service, await client.bearer())).status).toBe(200)
      expect(credentials).toEqual(await client.credentials())
    },
  )

  test('a session continues in another process, also after the first one got the outcome and lost it', async () => {
    const client = clientOf()
    const session = await client.device.start({ variant })
    const saved = JSON.stringify(session)
    await service.grant(session.userCode)
    await session.wait()
    const { id, secret } = service.application
    const program = `
      import { createClient } from ${JSON.stringify(await entryOf('.'))}
      const client = createClient(${JSON.stringify({ baseUrl: service.address, appId: id, appSecret: secret })})
      console.log(JSON.stringify(await client.device.resume(${saved}).wait()))`
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program])
    const [mine, theirs] = [await client.credentials(), JSON.parse(stdout)]
    expect({ ...theirs, issuedAt: 0, expiresAt: 0 }).toEqual({ ...mine, issuedAt: 0, expiresAt: 0 })
  })
})

test('a public application can use the device flow without a secret', async () => {
  const { id } = await makeApplication(service.context.db, service.config, service.account.slug, { public: true })
  await service.context.applications.refresh()
  const client = clientOf({ appId: id, appSecret: undefined })
  const session = await client.device.start({ variant: 'token_set', scope: 'orders:read,orders:write', state: 'mine' })
  await service.grant(session.userCode)
  expect(await session.wait()).toMatchObject({ scope: ['orders:read', 'orders:write'], state: 'mine' })
  expect((await askMe(service, await client.bearer())).status).toBe(200)
  await client.revoke()
  expect(await client.credentials()).toBeNull()
})

test('the consent page shows the device’s self-description', async () => {
  const session = await clientOf({ userAgent: 'Acme TV (living room)' }).device.start({ variant: 'token_set' })
  const [row] = await service.database.query('select requested_with from device_codes where user_code_digest = $1', [
    digestOf(service, session.userCode),
  ])
  expect(row).toEqual({ requested_with: 'Acme TV (living room)' })
})

test.each([
  ['wrong secrets', { appSecret: 'lks_wrong' }, {}, 'invalid_application'],
  ['unknown applications', { appId: 'app_unknown00000' }, {}, 'invalid_application'],
  ['unknown scopes', {}, { scope: ['no:such'] }, 'invalid_scope'],
  ['states that are too long', {}, { state: 'x'.repeat(1025) }, 'invalid_request'],
])('%s have their own error', async (_, options, wish, code) => {
  const error = await failure(clientOf(options).device.start({ variant: 'token_set', ...wish }))
  expect(error).toMatchObject({ name: 'LatchkeyError', code })
})

test('an application without the device flow gets its own error', async () => {
  const { id, secret } = await makeApplication(service.context.db, service.config, service.account.slug, {
    deviceFlow: false,
    redirectUris: ['https://app.example/callback'],
  })
  await service.context.applications.refresh()
  const error = await failure(clientOf({ appId: id, appSecret: secret }).device.start({ variant: 'token_set' }))
  expect(error).toMatchObject({ code: 'invalid_application', refusal: 'device_flow_disabled' })
})
