/**
 * SCIM 2.0 `/Users`: requests in the shapes that the documentation of Okta ("Build your SCIM API service") and of Microsoft Entra ID
 * ("Develop and plan provisioning for a SCIM endpoint") shows, written after it. No Okta or Entra tenant took part.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeUser } from '../rig/make.ts'
import { type ManageClient, makeManagementKey, manageClient } from '../rig/manage.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
/** RFC 7644, section 3.12, and section 3.3 for a resource that exists. */
const TAKEN = {
  schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
  status: '409',
  scimType: 'uniqueness',
  detail: expect.any(String),
}
const SCIM_JSON = { 'content-type': 'application/scim+json; charset=utf-8' }

let service: TestService
let scim: ManageClient
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators', LOG_LEVEL: 'silent' })
  const { key } = await makeManagementKey(service, { account: service.account.slug, scopes: ['scim'] })
  scim = manageClient(service.address, key)
})
afterAll(() => service.stop())

const find = (filter: string) =>
  scim('GET', `/scim/2/Users?filter=${encodeURIComponent(filter)}&startIndex=1&count=100`)
const patch = (id: string, Operations: readonly object[]) =>
  scim('PATCH', `/scim/2/Users/${id}`, { schemas: [PATCH], Operations }, SCIM_JSON)

it('says what it supports, which types of resources it has, and what is kept of a user', async () => {
  const config = await scim('GET', '/scim/2/ServiceProviderConfig')
  expect(config.headers.get('content-type')).toContain('application/scim+json')
  expect(config.body).toMatchObject({
    ...{ patch: { supported: true }, bulk: { supported: false }, filter: { supported: true, maxResults: 200 } },
    authenticationSchemes: [expect.objectContaining({ type: 'oauthbearertoken' })],
  })
  const types = (await scim('GET', '/scim/2/ResourceTypes')).body
  expect(types).toMatchObject({ totalResults: 1, Resources: [{ id: 'User', endpoint: '/Users', schema: USER }] })
  const [schema] = (await scim('GET', '/scim/2/Schemas')).body.Resources
  const names = schema.attributes.map(({ name }: { name: string }) => name)
  expect([schema.id, names]).toEqual([USER, ['userName', 'externalId', 'displayName', 'active']])
})

describe('in the shapes of Okta', () => {
  const ann = (more: object = {}) => ({
    schemas: [USER],
    userName: 'ann.lee@okta.example',
    name: { givenName: 'Ann', familyName: 'Lee' },
    emails: [{ primary: true, value: 'ann.lee@okta.example', type: 'work' }],
    displayName: 'Ann Lee',
    locale: 'en-US',
    externalId: '00ujl29u0le5T6Aj10h7',
    groups: [],
    password: '1mz050nq',
    active: true,
    ...more,
  })

  it('a user is looked for, created, found, replaced, deactivated and activated', async () => {
    expect((await find('userName eq "ann.lee@okta.example"')).body).toEqual({
      schemas: [LIST],
      totalResults: 0,
      startIndex: 1,
      itemsPerPage: 0,
      Resources: [],
    })
    const created = await scim('POST', '/scim/2/Users', ann(), SCIM_JSON)
    expect(created.status).toBe(201)
    expect(created.headers.get('content-type')).toContain('application/scim+json')
    const { id } = created.body
    expect(created.body).toMatchObject({
      schemas: [USER],
      userName: 'ann.lee@okta.example',
      externalId: '00ujl29u0le5T6Aj10h7',
      displayName: 'Ann Lee',
      emails: [{ primary: true, value: 'ann.lee@okta.example', type: 'work' }],
      active: true,
      meta: { resourceType: 'User', location: `${service.config.publicUrl}/scim/2/Users/${id}` },
    })
    expect(created.body).not.toHaveProperty('password')
    expect((await find('userName eq "Ann.Lee@okta.example"')).body.Resources).toEqual([created.body])
    expect((await scim('GET', `/scim/2/Users/${id}`)).body).toEqual(created.body)
    const again = await scim('POST', '/scim/2/Users', ann(), SCIM_JSON)
    expect([again.status, again.body]).toEqual([409, TAKEN])

    const renamed = ann({
      id,
      userName: 'ann.miller@okta.example',
      displayName: 'Ann Miller',
      meta: { resourceType: 'User' },
    })
    expect((await scim('PUT', `/scim/2/Users/${id}`, renamed, SCIM_JSON)).body).toMatchObject({
      ...{ id, userName: 'ann.miller@okta.example', displayName: 'Ann Miller', externalId: '00ujl29u0le5T6Aj10h7' },
    })
    expect((await patch(id, [{ op: 'replace', value: { active: false } }])).body.active).toBe(false)
    expect((await patch(id, [{ op: 'replace', value: { active: true } }])).body.active).toBe(true)
    expect((await scim('PUT', `/scim/2/Users/${id}`, { ...renamed, active: false }, SCIM_JSON)).body.active).toBe(false)
  })

  it('an import reads all users by numbers', async () => {
    const { body } = await scim('GET', '/scim/2/Users?startIndex=1&count=1')
    expect(body).toMatchObject({ schemas: [LIST], startIndex: 1, itemsPerPage: 1 })
    const rest = (await scim('GET', '/scim/2/Users?startIndex=2&count=100')).body
    expect(rest.itemsPerPage).toBe(body.totalResults - 1)
    expect(rest.Resources).not.toContainEqual(body.Resources[0])
    const negative = await scim('GET', '/scim/2/Users?startIndex=-7&count=-1')
    expect([negative.status, negative.body]).toMatchObject([200, { startIndex: 1, itemsPerPage: 0 }])
  })

  it('an unknown id is a 404 with an error of SCIM', async () => {
    const { status, body } = await scim('GET', '/scim/2/Users/23a35c27-23d3-4c03-b4c5-6443c09e7173')
    expect([status, body]).toMatchObject([
      404,
      { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '404' },
    ])
  })
})

describe('in the shapes of Entra ID', () => {
  const bob = {
    schemas: [USER, ENTERPRISE],
    externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
    userName: 'Bob_Stone@entra.example',
    active: true,
    emails: [{ primary: true, type: 'work', value: 'Bob_Stone@entra.example' }],
    meta: { resourceType: 'User' },
    name: { formatted: 'Bob Stone', familyName: 'Stone', givenName: 'Bob' },
    roles: [],
  }

  it('testing the connection looks for a user who does not exist', async () => {
    const { status, body } = await find('userName eq "7a4a1a3c-5cd2-4b6b-9d2f-not-there"')
    expect([status, body.totalResults]).toEqual([200, 0])
  })

  it('a user is created, found by externalId, patched in parts, and soft-deleted', async () => {
    const created = await scim('POST', '/scim/2/Users', bob, SCIM_JSON)
    expect(created.body).toMatchObject({ userName: 'bob_stone@entra.example', displayName: 'Bob Stone', active: true })
    const { id } = created.body
    expect((await find(`externalId eq "${bob.externalId}"`)).body.Resources).toEqual([created.body])

    const patched = await patch(id, [
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updatedEmail@entra.example' },
      { op: 'Replace', path: 'name.familyName', value: 'Updated' },
      { op: 'Replace', path: 'displayName', value: 'Robert Stone' },
      { op: 'Add', path: `${ENTERPRISE}:department`, value: 'Sales' },
      { op: 'Replace', path: 'userName', value: 'robert@entra.example' },
    ])
    expect([patched.status, patched.body]).toMatchObject([
      200,
      { userName: 'robert@entra.example', displayName: 'Robert Stone' },
    ])
    const sameId = { ...bob, userName: 'somebody.else@entra.example' }
    expect((await scim('POST', '/scim/2/Users', sameId, SCIM_JSON)).body).toEqual(TAKEN)
    const other = await scim('POST', '/scim/2/Users', { ...sameId, externalId: 'another' }, SCIM_JSON)
    const taken = await patch(other.body.id, [{ op: 'Replace', path: 'userName', value: 'robert@entra.example' }])
    expect([taken.status, taken.body]).toEqual([409, TAKEN])
    expect((await patch(id, [{ op: 'Replace', path: 'active', value: false }])).body.active).toBe(false)
    expect((await patch(id, [{ op: 'Replace', path: 'active', value: 'True' }])).body.active).toBe(true)
    expect((await patch(id, [{ op: 'Replace', path: 'active', value: 'False' }])).body.active).toBe(false)
  })
})

it('a deactivated user loses sessions at once and credentials within two seconds', async () => {
  const user = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
  const device = service.device('key')
  const code = await device.code()
  await service.grant(code.user_code, user)
  const { access_key } = (await device.poll(code.device_code)).body
  const status = async () =>
    (await fetch(`${service.address}/1/me`, { headers: { authorization: `Bearer ${access_key}` } })).status
  expect(await status()).toBe(200)
  await service.context.db.query(
    `insert into sessions (id, account_id, user_id, key_id, created_at, authenticated_at, last_used_at, expires_at)
     values (gen_random_uuid(), $1, $2, 1, now(), now(), now(), now() + interval '1 hour')`,
    [service.account.id, user.id],
  )
  expect((await patch(user.id, [{ op: 'replace', value: { active: false } }])).status).toBe(200)
  const sessions = await service.context.db.query('select from sessions where user_id = $1', [user.id])
  expect(sessions.rowCount).toBe(0)
  await expect.poll(status, { timeout: 2_000 }).toBe(401)
})

it('a user who is created with active false cannot sign in until they are activated', async () => {
  const created = await scim('POST', '/scim/2/Users', {
    schemas: [USER],
    userName: 'later@corp.example',
    active: false,
  })
  expect([created.status, created.body.active]).toEqual([201, false])
  const { id } = created.body
  const statusOf = async () => {
    const [row] = await service.database.query<{ disabled: boolean }>(
      'select disabled_at is not null as disabled from users where id = $1',
      [id],
    )
    return row?.disabled
  }
  expect(await statusOf()).toBe(true)
  expect((await scim('GET', `/scim/2/Users/${id}`)).body.active).toBe(false)
  await patch(id, [{ op: 'replace', path: 'active', value: true }])
  expect(await statusOf()).toBe(false)
})

it('malformed requests and other filters are refused as SCIM refuses them', async () => {
  for (const filter of ['userName sw "a"', 'userName eq "a" or active eq true', 'userName eq a']) {
    expect([filter, (await find(filter)).body]).toMatchObject([filter, { status: '400', scimType: 'invalidFilter' }])
  }
  const { id } = service.user
  const create = (user: object) => scim('POST', '/scim/2/Users', { schemas: [USER], ...user }, SCIM_JSON)
  const refused = { status: '400', scimType: 'invalidValue' }
  expect((await create({ displayName: 'Nobody' })).body).toMatchObject(refused)
  expect((await create({ userName: 'no address' })).body).toMatchObject(refused)
  expect((await scim('GET', '/scim/2/Users?startIndex=first')).body).toMatchObject(refused)
  expect((await patch(id, [{ op: 'replace', path: 'active', value: 'maybe' }])).body).toMatchObject(refused)
  expect((await patch(id, [{ op: 'move', path: 'active' }])).body).toMatchObject({ scimType: 'invalidSyntax' })
  // A conflict that is not about a value that exists already has no word in the RFC.
  const lastAdministrator = await patch(id, [{ op: 'replace', value: { active: false } }])
  expect([lastAdministrator.status, lastAdministrator.body.scimType]).toEqual([409, undefined])
})
