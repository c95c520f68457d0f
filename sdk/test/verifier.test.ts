/**
 * The packed verifier with the real service, behind a middleware on a real socket.
 * docs/interface/credentials.md, "Check a credential".
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { revokeCredential } from '../../server/src/flows/grants/revoke-credential.ts'
import { makeApplication, makeUser } from '../../server/test/rig/make.ts'
import { startTestService, type TestService } from '../../server/test/rig/service.ts'
import { entryOf, importSdk } from './rig/packed.ts'

type Sdk = Awaited<ReturnType<typeof importSdk>>

let service: TestService
let sdk: Sdk
let api: { server: Server; address: string; asked: number }

beforeAll(async () => {
  service = await startTestService({ POLL_INTERVAL: '1' })
  sdk = await importSdk()
  const { requireAuth, credentialOf }: typeof import('../src/middleware/express.ts') = await import(
    /* @vite-ignore */ await entryOf('./express')
  )
  const { context, config, account } = service
  const { id, secret } = await makeApplication(context.db, config, account.slug, { resourceServer: true })
  await context.applications.refresh()
  const counting: typeof fetch = (input, init) => {
    api.asked += 1
    return fetch(input, init)
  }
  const verifier = sdk.createVerifier({
    baseUrl: service.address,
    resourceId: id,
    resourceSecret: secret,
    cacheSeconds: 1,
    fetch: counting,
  })
  const guard = requireAuth(verifier, { scope: 'orders:read' })
  const server = createServer((request, response) => {
    void guard(request, response, (error) => {
      response.statusCode = error ? 500 : 200
      response.end(error ? String(error) : JSON.stringify(credentialOf(request)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  api = { server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked: 0 }
})
afterAll(async () => {
  api?.server.close()
  await service?.stop()
})

async function connect(variant: 'token_set' | 'access_key', scope = 'orders:read', user = service.user) {
  const client = sdk.createClient({
    baseUrl: service.address,
    appId: service.application.id,
    appSecret: service.application.secret,
  })
  const session = await client.device.start({ variant, scope })
  await service.grant(session.userCode, user)
  await session.wait()
  return client
}

test.each(['token_set', 'access_key'] as const)(
  'a credential of the variant %s opens the API, and says whose it is',
  async (variant) => {
    const client = await connect(variant)
    const response = await client.fetch(api.address)
    expect(response.status).toBe(200)
    const { user, application } = service
    expect(await response.json()).toEqual({
      account: service.account.slug,
      user: user.id,
      accountExternalId: null,
      userExternalId: null,
      application: application.id,
      grant: expect.stringMatching(/^grt_[0-9a-z]{20}$/),
      scope: ['orders:read'],
      variant,
      expiresAt: variant === 'access_key' ? null : expect.any(Number),
    })
  },
)

test('the ids that account and user have at the operator’s own service come with the credential', async () => {
  const { context, config, account } = service
  const user = await makeUser(context.db, account.slug)
  await context.db.query({
    text: `update accounts set external_id = 'customer 17' where id = $1`,
    values: [account.id],
  })
  await context.db.query({ text: `update users set external_id = 'Zoë/17' where id = $1`, values: [user.id] })
  const { id, secret } = await makeApplication(context.db, config, account.slug, { resourceServer: true })
  await context.applications.refresh()
  const verifier = sdk.createVerifier({ baseUrl: service.address, resourceId: id, resourceSecret: secret })
  const guard = sdk.createGuard(verifier, { scope: 'orders:read' })
  const bearer = await (await connect('access_key', 'orders:read', user)).bearer()
  expect(await guard(`Bearer ${bearer}`)).toMatchObject({
    outcome: 'allowed',
    credential: { user: user.id, accountExternalId: 'customer 17', userExternalId: 'Zoë/17' },
  })
  await context.db.query({ text: 'update accounts set external_id = null where id = $1', values: [account.id] })
})

test('fifty concurrent requests cause one request to the service', async () => {
  const client = await connect('access_key')
  const before = api.asked
  const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await client.fetch(api.address)).status))
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(api.asked - before).toBe(1)
})

test('a revoked credential is refused everywhere in time: two seconds at the service, one in the cache', async () => {
  const client = await connect('access_key')
  expect((await client.fetch(api.address)).status).toBe(200)
  const { id, secret } = service.application
  const credential = await client.bearer()
  await revokeCredential(service.context, { applicationId: id, secret, credential, variant: null })
  await new Promise((resolve) => setTimeout(resolve, 3_100))
  const response = await client.fetch(api.address)
  expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer error="invalid_token"'])
})

test('a request without the scope is told which one is lacking', async () => {
  const user = await makeUser(service.context.db, service.account.slug, { holds: ['orders:write'] })
  const client = await connect('token_set', 'orders:read,orders:write', user)
  const response = await client.fetch(api.address)
  expect(response.status).toBe(403)
  expect(await response.json()).toMatchObject({
    error: 'insufficient_scope',
    message: expect.stringContaining('orders:read'),
  })
})

test('a refresh token is refused', async () => {
  const client = await connect('token_set')
  const set = await client.credentials()
  const authorization = `Bearer ${set?.variant === 'token_set' ? set.refreshToken : ''}`
  expect((await fetch(api.address, { headers: { authorization } })).status).toBe(401)
})
