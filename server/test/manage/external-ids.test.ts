/** docs/management.md, "External ids": the adopter's API learns whom it serves, and a change is effective within two seconds. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeAccount, makeApplication, makeScopes, makeUser } from '../rig/make.ts'
import { type ManageClient, makeManagementKey, manageClient } from '../rig/manage.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let call: ManageClient
beforeAll(async () => {
  service = await startTestService()
  await makeScopes(service.context.db, ['orders:read'])
  call = manageClient(service.address, (await makeManagementKey(service)).key)
})
afterAll(() => service.stop())

async function makeCredential() {
  const user = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
  const device = service.device('key')
  const code = await device.code()
  await service.grant(code.user_code, user)
  const { access_key } = (await device.poll(code.device_code)).body
  return { user, credential: String(access_key) }
}

const ask = (path: string, credential: string) =>
  fetch(`${service.address}${path}`, { headers: { authorization: `Bearer ${credential}` } })

async function introspect(token: string) {
  const { id, secret } = await makeApplication(service.context.db, service.config, service.account.slug, {
    resourceServer: true,
  })
  await service.context.applications.refresh()
  const response = await fetch(`${service.address}/oauth/introspect`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ token }),
  })
  return response.json()
}

it('are in /1/me, /auth/verify and introspection, and absent or empty where there is none', async () => {
  const { user, credential } = await makeCredential()
  expect(await (await ask('/1/me', credential)).json()).not.toHaveProperty('user_external_id')
  expect((await ask('/auth/verify', credential)).headers.get('x-latchkey-user-external-id')).toBe('')

  const { id } = service.account
  await call('PATCH', `/accounts/${id}`, { external_id: 'customer 17' })
  await call('PATCH', `/accounts/${id}/users/${user.id}`, { external_id: 'Zoë/17' })
  const named = { account_external_id: 'customer 17', user_external_id: 'Zoë/17' }
  await expect.poll(async () => (await ask('/1/me', credential)).json(), { timeout: 2_000 }).toMatchObject(named)
  const { headers } = await ask('/auth/verify', credential)
  expect(headers.get('x-latchkey-account-external-id')).toBe('customer%2017')
  expect(headers.get('x-latchkey-user-external-id')).toBe('Zo%C3%AB%2F17')
  expect(await introspect(credential)).toMatchObject({ active: true, ...named })
  expect(await (await ask('/1/me.xml', credential)).text()).toContain('<user_external_id>Zoë/17</user_external_id>')
})

it('two accounts take one external id at the same time: one has it, and the other is told that it exists', async () => {
  const other = await makeAccount(service.context.db)
  for (let round = 0; round < 20; round += 1) {
    const taken = await Promise.all(
      [service.account, other].map(({ id }) => call('PATCH', `/accounts/${id}`, { external_id: `customer ${round}` })),
    )
    expect(taken.map(({ status }) => status).sort(), `round ${round}`).toEqual([200, 409])
  }
})

it('a user who is disabled through the API is refused within two seconds', async () => {
  const { user, credential } = await makeCredential()
  expect((await ask('/1/me', credential)).status).toBe(200)
  const disabled = await call('PATCH', `/accounts/${service.account.id}/users/${user.id}`, { disabled: true })
  expect(disabled.status).toBe(200)
  await expect.poll(async () => (await ask('/1/me', credential)).status, { timeout: 2_000 }).toBe(401)
})
