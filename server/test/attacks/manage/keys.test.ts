/** FD-46 … FD-55: what somebody may try with management keys. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeKey, rotateKey } from '../../../src/flows/manage/keys.ts'
import { manageEndpoints } from '../../../src/http/manage/routes.ts'
import { markOperatorsAccount } from '../../../src/store/accounts/accounts.ts'
import { listRoles } from '../../../src/store/accounts/roles.ts'
import { makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { type ManageClient, makeManagementKey, makerOf, manageClient } from '../../rig/manage.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { everyRow } from '../../rig/witness.ts'

const HOUR_MS = 60 * 60 * 1000

let service: TestService
let operators: { id: string; slug: string }
let operator: { id: string }
let call: ManageClient
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators', LOG_LEVEL: 'silent' }, { clock: true })
  const { db } = service.context
  operators = await makeAccount(db, { slug: 'operators' })
  operator = await makeUser(db, operators.slug)
  call = manageClient(service.address, (await makeManagementKey(service)).key)
})
afterAll(() => service.stop())

const client = (key: string) => manageClient(service.address, key)
const statusOf = async (key: string) => (await client(key)('GET', '/scopes')).status

/** Every path of the management API, with values for its named segments. */
function everyRequest(account: string, ids: Readonly<Record<string, string>>) {
  return manageEndpoints
    .filter(({ path, dialect }) => dialect === 'manage' && path.includes('{account}'))
    .map(({ method, path }) => {
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        name === 'account' ? account : (ids[name] ?? 'x'),
      )
      return { method, path: filled.replace('/manage/1', '') }
    })
}

describe('the operators’ account', () => {
  it('FD-46: is not listed, shown or found by any request, by id or slug', async () => {
    expect(
      (await call('GET', '/accounts?limit=200')).body.items.map((each: { slug: string }) => each.slug),
    ).not.toContain('operators')
    const application = await makeApplication(service.context.db, service.config, operators.slug)
    const ids = { user: operator.id, application: application.id }
    for (const account of [operators.id, operators.slug]) {
      const reads = everyRequest(account, ids).filter(({ method }) => method === 'GET')
      expect(reads.length).toBeGreaterThan(8)
      for (const { method, path } of reads) expect([path, (await call(method, path)).status]).toEqual([path, 404])
      expect((await call('GET', `/audit?account=${account}`)).status).toBe(404)
    }
    const seen = (await call('GET', '/audit?limit=200')).body.items
    expect(seen.filter((event: { account_id: string | null }) => event.account_id === operators.id)).toEqual([])
  })

  it('FD-47: is not changed by any request', async () => {
    const [administrator] = await listRoles(service.context.db, operators.id)
    const ids = { user: operator.id, role: administrator?.id ?? '' }
    const bodies = [
      { email: 'mallory@evil.example', roles: [administrator?.id] },
      { disabled: true },
      { name: 'Mine' },
      { name: 'mine', scopes: [] },
    ]
    const before = await everyRow(service)
    for (const account of [operators.id, operators.slug]) {
      for (const { method, path } of everyRequest(account, ids).filter(({ method }) => method !== 'GET')) {
        for (const body of bodies) expect([path, (await call(method, path, body)).status]).toEqual([path, 404])
      }
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('FD-47: an id of its role or user in another account’s path is not found', async () => {
    const [administrator] = await listRoles(service.context.db, operators.id)
    const users = `/accounts/${service.account.id}/users`
    expect((await call('POST', users, { email: 'mallory@evil.example', roles: [administrator?.id] })).status).toBe(404)
    expect((await call('PATCH', `${users}/${operator.id}`, { disabled: true })).status).toBe(404)
    expect((await call('PATCH', `${users}/${service.user.id}`, { roles: [administrator?.id] })).status).toBe(404)
  })

  it('FD-47: its slug cannot be taken before it exists, and no key is made for it', async () => {
    expect((await call('POST', '/accounts', { slug: 'operators', name: 'Operators' })).status).toBe(409)
    await expect(makeManagementKey(service, { account: 'operators' })).rejects.toThrow('operators’ account')
  })

  it('FD-53: a key of an account that becomes it is refused', async () => {
    const account = await makeAccount(service.context.db)
    const { key } = await makeManagementKey(service, { account: account.slug })
    expect((await client(key)('GET', `/accounts/${account.slug}`)).status).toBe(200)
    await markOperatorsAccount(service.context.db, account.slug)
    expect((await client(key)('GET', `/accounts/${account.slug}`)).status).toBe(401)
    expect((await call('PATCH', `/accounts/${account.slug}`, { name: 'Mine' })).status).toBe(404)
    await markOperatorsAccount(service.context.db, operators.slug)
  })
})

describe('reach and scopes', () => {
  it('FD-48: a key of one account gets nothing of another, by any request', async () => {
    const other = await makeAccount(service.context.db)
    const own = client((await makeManagementKey(service, { account: other.slug })).key)
    const ids = { user: service.user.id, application: service.application.id }
    await own('GET', '/scopes')
    const before = await everyRow(service)
    for (const { method, path } of everyRequest(service.account.id, ids)) {
      const body = method === 'GET' || method === 'DELETE' ? undefined : { name: 'Mine' }
      expect([method, path, (await own(method, path, body)).status]).toEqual([method, path, 404])
    }
    expect(await everyRow(service)).toEqual(before)
    expect((await own('GET', '/accounts')).body.items.map((each: { id: string }) => each.id)).toEqual([other.id])
    expect((await own('GET', `/audit?account=${service.account.id}`)).status).toBe(404)
    const seen = (await own('GET', '/audit?limit=200')).body.items
    expect(new Set(seen.map((event: { account_id: string }) => event.account_id))).not.toContain(service.account.id)
  })

  it('FD-48: a key of one account cannot create accounts or scopes, or read reviews', async () => {
    const own = client((await makeManagementKey(service, { account: service.account.slug })).key)
    expect((await own('POST', '/accounts', { slug: 'mine', name: 'Mine' })).status).toBe(403)
    expect((await own('POST', '/scopes', { name: 'mine', title: 'Mine' })).status).toBe(403)
    expect((await own('GET', '/reviews')).status).toBe(403)
    await expect(
      makeManagementKey(service, { account: service.account.slug, scopes: ['reviews:read'] }),
    ).rejects.toThrow('whole service')
  })

  it('FD-49: every request needs its scope, and reading does not allow changing', async () => {
    const { slug } = service.account
    const reader = client((await makeManagementKey(service, { scopes: ['accounts:read', 'users:read'] })).key)
    expect((await reader('GET', `/accounts/${slug}/users`)).status).toBe(200)
    for (const path of [
      '/scopes',
      '/audit',
      `/accounts/${slug}/roles`,
      `/accounts/${slug}/applications`,
      `/accounts/${slug}/grants`,
    ]) {
      expect([path, (await reader('GET', path)).body.error]).toEqual([path, 'insufficient_scope'])
    }
    expect((await reader('PATCH', `/accounts/${slug}`, { name: 'Mine' })).status).toBe(403)
    expect((await reader('POST', `/accounts/${slug}/users`, { email: 'a@b.example' })).status).toBe(403)
  })
})

describe('a key that is over', () => {
  it('FD-50: is refused at once after it was revoked', async () => {
    const { id, key } = await makeManagementKey(service)
    expect(await statusOf(key)).toBe(200)
    await revokeKey(makerOf(service), id)
    expect(await statusOf(key)).toBe(401)
  })

  it('FD-50: is refused after its time', async () => {
    const { id, key } = await makeManagementKey(service)
    await service.context.db.query(
      "update management_keys set expires_at = now() - interval '1 second' where id = $1",
      [id],
    )
    expect(await statusOf(key)).toBe(401)
  })

  it('FD-50: is accepted during the overlap after it was replaced, and not after it', async () => {
    const { id, key } = await makeManagementKey(service)
    const rotated = await rotateKey(makerOf(service), id, { overlapMs: HOUR_MS, lifetimeMs: 24 * HOUR_MS })
    if (rotated.outcome === 'refused') throw new Error(rotated.reason)
    expect([await statusOf(key), await statusOf(rotated.value.key)]).toEqual([200, 200])
    await service.context.db.query('update management_keys set previous_until = now() where id = $1', [id])
    expect([await statusOf(key), await statusOf(rotated.value.key)]).toEqual([401, 200])
    const again = await rotateKey(makerOf(service), id, { overlapMs: 0, lifetimeMs: HOUR_MS })
    if (again.outcome === 'refused') throw new Error(again.reason)
    expect([await statusOf(rotated.value.key), await statusOf(again.value.key)]).toEqual([401, 200])
  })
})

it('FD-51: the database holds keyed digests only, and what it holds is no key', async () => {
  const { id, key } = await makeManagementKey(service)
  const { rows } = await service.context.db.query<{ digest: Buffer; row: string }>(
    'select digest, k::text as row from management_keys k where id = $1',
    [id],
  )
  expect(rows[0]?.row).not.toContain(key)
  expect(rows[0]?.row).not.toContain(Buffer.from(key.slice(4), 'base64url').toString('hex'))
  expect(await statusOf(`lkm_${rows[0]?.digest.toString('base64url')}`)).toBe(401)
  expect(await statusOf(id)).toBe(401)
})

it('FD-52: no other credential is a management key, and a management key is no other credential', async () => {
  const device = service.device('key')
  const code = await device.code()
  await service.grant(code.user_code)
  const { access_key } = (await device.poll(code.device_code)).body
  for (const other of [access_key, service.application.secret, `lkm_${service.application.secret?.slice(4)}`]) {
    expect(await statusOf(String(other))).toBe(401)
  }
  const { key } = await makeManagementKey(service)
  const me = await fetch(`${service.address}/1/me`, { headers: { authorization: `Bearer ${key}` } })
  expect(me.status).toBe(401)
})

it('FD-54: another key with the same Idempotency-Key makes a request of its own', async () => {
  const headers = { 'idempotency-key': 'shared' }
  const [one, two] = [client((await makeManagementKey(service)).key), client((await makeManagementKey(service)).key)]
  const first = await one('POST', '/accounts', { slug: 'first', name: 'First' }, headers)
  const second = await two('POST', '/accounts', { slug: 'second', name: 'Second' }, headers)
  expect([first.body.slug, second.body.slug]).toEqual(['first', 'second'])
})

it('FD-55: a dry run and a refused request leave nothing behind', async () => {
  const { id } = service.account
  const before = await everyRow(service)
  const headers = { 'idempotency-key': 'left-behind' }
  const [administrator] = await listRoles(service.context.db, id)
  const ghost = { email: 'ghost@acme.example', invite: true, roles: [administrator?.id] }
  const users = `/accounts/${id}/users`
  const answers = [
    await call('POST', '/accounts?dry_run=true', { slug: 'ghost', name: 'Ghost' }, headers),
    await call('POST', `${users}?dry_run=true`, ghost, headers),
    // The last administrator.
    await call('PATCH', `${users}/${service.user.id}`, { name: 'Ghost', disabled: true }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 409])
  expect(await everyRow(service)).toEqual(before)
})
