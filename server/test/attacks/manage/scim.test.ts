/** FD-56: what somebody may try with the key by which an identity provider manages the users of its account. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { type ManageClient, makeManagementKey, manageClient } from '../../rig/manage.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
let scim: ManageClient
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators', LOG_LEVEL: 'silent' })
  const { key } = await makeManagementKey(service, { account: service.account.slug, scopes: ['scim'] })
  scim = manageClient(service.address, key)
})
afterAll(() => service.stop())

const find = (filter: string) => scim('GET', `/scim/2/Users?filter=${encodeURIComponent(filter)}`)
const deactivate = (id: string) =>
  scim('PATCH', `/scim/2/Users/${id}`, { Operations: [{ op: 'replace', value: { active: false } }] })

it('FD-56: reaches the users of its account only', async () => {
  const other = await makeAccount(service.context.db)
  const stranger = await makeUser(service.context.db, other.slug)
  const operators = await makeAccount(service.context.db, { slug: 'operators' })
  const operator = await makeUser(service.context.db, operators.slug)
  for (const { id, email } of [stranger, operator]) {
    expect((await scim('GET', `/scim/2/Users/${id}`)).status).toBe(404)
    expect((await deactivate(id)).status).toBe(404)
    expect((await find(`userName eq "${email}"`)).body.totalResults).toBe(0)
  }
  expect((await find(`userName eq "${service.user.email}"`)).body.totalResults).toBe(1)
})

it('FD-56: of the whole service, or without the scope, is none', async () => {
  await expect(makeManagementKey(service, { scopes: ['scim'] })).rejects.toThrow('one account')
  const wide = manageClient(service.address, (await makeManagementKey(service)).key)
  expect((await wide('GET', '/scim/2/Users')).status).toBe(403)
  const { key } = await makeManagementKey(service, { account: service.account.slug, scopes: ['users:write'] })
  const other = manageClient(service.address, key)
  expect((await other('GET', '/scim/2/Users')).body).toMatchObject({ status: '403' })
  expect((await other('POST', '/scim/2/Users', { userName: 'a@b.example' })).body).toMatchObject({ status: '403' })
})
