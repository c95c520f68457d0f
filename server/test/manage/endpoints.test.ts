/** docs/management.md: every endpoint of the management API. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyAudit } from '../../src/flows/audit/verify.ts'
import { makeScopes, makeUser } from '../rig/make.ts'
import { type ManageClient, makeManagedAccount, makeManagementKey, manageClient } from '../rig/manage.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let call: ManageClient
beforeAll(async () => {
  service = await startTestService()
  await makeScopes(service.context.db, ['orders:read', 'orders:write'])
  call = manageClient(service.address, (await makeManagementKey(service)).key)
})
afterAll(() => service.stop())

let count = 0
const fresh = (name: string) => {
  count += 1
  return `${name}-${count}`
}

describe('accounts', () => {
  it('are created, shown by id or slug, changed and found by their external id', async () => {
    const { id, slug, external_id } = await makeManagedAccount(call)
    for (const name of [id, slug]) {
      expect((await call('GET', `/accounts/${name}`)).body).toMatchObject({ id, slug, name: 'Acme', external_id })
    }
    const changed = await call('PATCH', `/accounts/${id}`, { name: 'Acme Ltd', external_id: null })
    expect([changed.status, changed.body]).toEqual([
      200,
      expect.objectContaining({ name: 'Acme Ltd', external_id: null }),
    ])
    await call('PATCH', `/accounts/${id}`, { external_id })
    expect((await call('GET', `/accounts?external_id=${external_id}`)).body.items).toEqual([
      expect.objectContaining({ id }),
    ])
  })

  it('a body may contain what would mean something else in a form or an address', async () => {
    const { id } = await makeManagedAccount(call)
    const name = '100% & more = a&a=1'
    expect((await call('PATCH', `/accounts/${id}`, { name })).body).toMatchObject({ name })
  })

  it('a slug or an external id that another has is a conflict', async () => {
    const { slug, external_id } = await makeManagedAccount(call)
    const again = { name: 'Other', slug, external_id: fresh('other') }
    expect((await call('POST', '/accounts', again)).body).toMatchObject({
      error: 'conflict',
      remedy: expect.any(String),
    })
    expect((await call('POST', '/accounts', { ...again, slug: fresh('other'), external_id })).status).toBe(409)
    const other = await makeManagedAccount(call)
    expect((await call('PATCH', `/accounts/${other.id}`, { external_id })).status).toBe(409)
  })
})

describe('users', () => {
  it('are created, changed, given roles, disabled and enabled', async () => {
    const { id } = await makeManagedAccount(call)
    const role = (await call('POST', `/accounts/${id}/roles`, { name: 'clerk', scopes: ['orders:read'] })).body
    const users = `/accounts/${id}/users`
    const made = await call('POST', users, {
      email: 'Ann@acme.example',
      external_id: 'u-1',
      name: 'Ann',
      roles: [role.id],
    })
    expect([made.status, made.body]).toEqual([
      201,
      expect.objectContaining({
        email: 'ann@acme.example',
        external_id: 'u-1',
        name: 'Ann',
        roles: [role.id],
        origin: 'own',
        status: 'invited',
      }),
    ])
    const own = `${users}/${made.body.id}`
    const change = { email: 'ann.lee@acme.example', permissions: ['orders:write'], disabled: true, roles: [role.id] }
    expect((await call('PATCH', own, change)).body).toMatchObject({
      email: change.email,
      permissions: change.permissions,
      status: 'disabled',
    })
    expect((await call('PATCH', own, { disabled: false })).body.status).toBe('invited')
    expect((await call('GET', `${users}?external_id=u-1`)).body.items).toEqual([
      expect.objectContaining({ id: made.body.id }),
    ])
    expect((await call('GET', `${users}?email=ann.lee@acme.example`)).body.items).toHaveLength(1)
    expect((await call('GET', `${users}?email=nobody@acme.example`)).body.items).toEqual([])
  })

  it('a change of several members happens as a whole or not at all', async () => {
    const { id } = await makeManagedAccount(call)
    const { body } = await call('POST', `/accounts/${id}/users`, { email: 'bob@acme.example' })
    const own = `/accounts/${id}/users/${body.id}`
    expect((await call('PATCH', own, { name: 'Bob', roles: ['rol_000000000000'] })).status).toBe(404)
    expect((await call('GET', own)).body).toEqual(body)
  })

  it('an invitation is mailed only if it is asked for', async () => {
    const { id } = await makeManagedAccount(call)
    const role = (await call('GET', `/accounts/${id}/roles`)).body.items[0].id
    await call('POST', `/accounts/${id}/users`, { email: 'no@acme.example', roles: [role] })
    await call('POST', `/accounts/${id}/users`, { email: 'yes@acme.example', roles: [role], invite: true })
    const { rows } = await service.context.db.query<{ email: string }>(
      "select u.email from mails m join users u on u.id = m.user_id where m.account_id = $1 and m.kind = 'invitation'",
      [id],
    )
    expect(rows.map(({ email }) => email)).toEqual(['yes@acme.example'])
  })

  it('the last administrator who can sign in is not disabled', async () => {
    const { slug } = service.account
    const answer = await call('PATCH', `/accounts/${slug}/users/${service.user.id}`, { disabled: true })
    expect(answer.body).toMatchObject({ error: 'conflict' })
  })
})

describe('roles and scopes', () => {
  it('a role is created, changed and deleted; the one with every scope stays', async () => {
    const { id } = await makeManagedAccount(call)
    const roles = `/accounts/${id}/roles`
    const [administrator] = (await call('GET', roles)).body.items
    const { body } = await call('POST', roles, { name: 'clerk', scopes: ['orders:read'] })
    expect((await call('PATCH', `${roles}/${body.id}`, { scopes: ['orders:write'] })).body).toMatchObject({
      name: 'clerk',
      scopes: ['orders:write'],
    })
    expect((await call('PATCH', `${roles}/${body.id}`, { scopes: ['nonsense'] })).status).toBe(400)
    expect((await call('DELETE', `${roles}/${body.id}`)).status).toBe(204)
    expect((await call('GET', `${roles}/${body.id}`)).status).toBe(404)
    expect((await call('DELETE', `${roles}/${administrator.id}`)).status).toBe(409)
  })

  it('a scope is added, and its title corrected', async () => {
    const name = fresh('stock:read')
    expect((await call('POST', '/scopes', { name, title: 'See' })).body).toEqual({
      name,
      title: 'See',
      dangerous: false,
      device_flow: true,
    })
    expect((await call('PATCH', `/scopes/${encodeURIComponent(name)}`, { title: 'See the stock' })).body.title).toBe(
      'See the stock',
    )
    expect((await call('GET', '/scopes')).body.items).toContainEqual(
      expect.objectContaining({ name, title: 'See the stock' }),
    )
  })
})

describe('erasing a user', () => {
  it('removes every row that names them; their credentials end, and the audit log still verifies without a name', async () => {
    const { id: account, slug } = await makeManagedAccount(call)
    const users = `/accounts/${account}/users`
    const email = `${fresh('gone')}@acme.example`
    const user = await makeUser(service.context.db, slug, { email, holds: ['orders:read'] })
    await call('PATCH', `${users}/${user.id}`, { name: 'Grace Gone', external_id: 'gone-17' })
    const device = service.device('key')
    const { user_code } = await device.code()
    expect(await service.grant(user_code, user)).toBe('granted')
    expect((await call('DELETE', `${users}/${user.id}?dry_run=true`)).status).toBe(204)
    expect((await call('DELETE', `${users}/${user.id}`, undefined, { 'if-match': '"old"' })).status).toBe(412)
    expect((await call('DELETE', `${users}/${user.id}`)).status).toBe(204)
    expect((await call('DELETE', `${users}/${user.id}`)).status).toBe(404)
    expect((await call('GET', `${users}?email=${email}`)).body.items).toEqual([])

    const tables = await service.database.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public'",
    )
    for (const { name } of tables) {
      const naming = `select '${name}' as found from ${name} t where t::text ~ $1`
      expect(await service.database.query(naming, [`${email}|Grace Gone|gone-17`])).toEqual([])
    }
    const kinds = await service.database.query<{ kind: string }>(
      "select kind from audit_events where user_id = $1 and kind in ('user.updated', 'grant.revoked', 'user.erased') order by id",
      [user.id],
    )
    expect(kinds.map(({ kind }) => kind)).toEqual(['user.updated', 'grant.revoked', 'user.erased'])
    expect((await verifyAudit(service.context.db, service.config.keys, null)).problem).toBeNull()
    expect((await call('POST', users, { email, external_id: 'gone-17' })).status).toBe(201)
  })

  it('the last administrator stays, and SCIM erases as well', async () => {
    const { id, slug } = await makeManagedAccount(call)
    const boss = await makeUser(service.context.db, slug)
    expect((await call('DELETE', `/accounts/${id}/users/${boss.id}`)).body).toMatchObject({ error: 'conflict' })
    const scim = manageClient(service.address, (await makeManagementKey(service, { account: slug })).key)
    const made = (await scim('POST', '/scim/2/Users', { userName: `${fresh('ann')}@acme.example` })).body
    expect((await scim('DELETE', `/scim/2/Users/${made.id}`)).status).toBe(204)
    expect((await scim('GET', `/scim/2/Users/${made.id}`)).status).toBe(404)
  })
})

describe('applications', () => {
  it('are registered with a secret that works, changed, and get further secrets', async () => {
    const { id } = await makeManagedAccount(call)
    const applications = `/accounts/${id}/applications`
    const { status, body } = await call('POST', applications, {
      name: fresh('Printer'),
      allowed_scopes: ['orders:read'],
    })
    expect([status, body.secret]).toEqual([201, expect.stringMatching(/^lks_/)])
    await service.context.applications.refresh()
    expect(service.context.applications.authenticate(body.id, body.secret)).not.toBeNull()
    const own = `${applications}/${body.id}`
    expect((await call('GET', own)).body).not.toHaveProperty('secret')
    const redirects = ['https://app.example/callback']
    expect((await call('PATCH', own, { redirect_uris: redirects })).body.redirect_uris).toEqual(redirects)
    expect((await call('PATCH', own, { redirect_uris: ['http://app.example/'] })).body).toMatchObject({
      error: 'invalid_request',
    })
    const second = (await call('POST', `${own}/secrets`, { label: 'second' })).body
    expect(second).toMatchObject({ label: 'second', secret: expect.stringMatching(/^lks_/) })
    const [first] = (await call('GET', own)).body.secrets.filter((each: { id: string }) => each.id !== second.id)
    expect((await call('DELETE', `${own}/secrets/${first.id}`)).status).toBe(204)
    expect((await call('DELETE', `${own}/secrets/${second.id}`)).status).toBe(409)
    expect((await call('GET', applications)).body.items).toEqual([expect.objectContaining({ id: body.id })])
  })

  it('are deleted with all that was granted to them, and their names are free again', async () => {
    const applications = `/accounts/${service.account.id}/applications`
    const wish = { name: fresh('Display'), allowed_scopes: ['orders:read'] }
    const { id, secret } = (await call('POST', applications, wish)).body
    await service.context.applications.refresh()
    const { user_code } = await service.device('key', { ...service.application, id, secret }).code()
    await service.grant(user_code)
    const grants = `/accounts/${service.account.id}/grants?application=${id}`
    expect((await call('GET', grants)).body.items).toHaveLength(1)
    expect((await call('DELETE', `${applications}/${id}`, undefined, { 'if-match': '"old"' })).status).toBe(412)
    expect((await call('DELETE', `${applications}/${id}`)).status).toBe(204)
    await service.context.applications.refresh()
    expect(service.context.applications.authenticate(id, secret)).toBeNull()
    expect((await call('GET', grants)).body.items).toEqual([])
    expect((await call('DELETE', `${applications}/${id}`)).status).toBe(404)
    expect((await call('POST', applications, wish)).status).toBe(201)
    const revoked = 'select revocation_reason as reason from grants where application_id = $1'
    expect(await service.database.query(revoked, [id])).toEqual([{ reason: 'application_deleted' }])
  })

  it('with a key of the account they wait for an operator’s approval', async () => {
    const { id, slug } = await makeManagedAccount(call)
    const own = manageClient(service.address, (await makeManagementKey(service, { account: slug })).key)
    const { body } = await own('POST', `/accounts/${id}/applications`, { name: fresh('Board'), allowed_scopes: [] })
    const { rowCount } = await service.context.db.query('select from application_vettings where application_id = $1', [
      body.id,
    ])
    expect(rowCount).toBe(1)
  })

  it('webhooks are added with their secret, listed and removed', async () => {
    const webhooks = `/accounts/${service.account.id}/applications/${service.application.id}/webhooks`
    const { body } = await call('POST', webhooks, { url: 'https://app.example/webhooks' })
    expect(body).toMatchObject({ url: 'https://app.example/webhooks', secret: expect.stringMatching(/^whsec_/) })
    expect((await call('POST', webhooks, { url: 'https://127.0.0.1/' })).status).toBe(400)
    expect((await call('GET', webhooks)).body.items).toHaveLength(1)
    expect((await call('DELETE', `${webhooks}/${body.id}`)).status).toBe(204)
    expect((await call('GET', webhooks)).body.items).toEqual([])
  })
})

describe('grants', () => {
  it('are listed by account, user and application, and revoked', async () => {
    const user = await makeUser(service.context.db, service.account.slug)
    const device = service.device('key')
    const { user_code } = await device.code()
    await service.grant(user_code, user)
    const grants = `/accounts/${service.account.id}/grants`
    const [grant] = (await call('GET', `${grants}?user=${user.id}`)).body.items
    expect(grant).toMatchObject({
      user_id: user.id,
      application_id: service.application.id,
      variant: 'access_key',
      by: 'code',
    })
    expect((await call('GET', `${grants}?application=${service.application.id}`)).body.items).toContainEqual(grant)
    expect((await call('GET', grants)).body.items).toContainEqual(grant)
    expect((await call('DELETE', `${grants}/${grant.id}`)).status).toBe(204)
    expect((await call('GET', `${grants}?user=${user.id}`)).body.items).toEqual([])
    expect((await call('DELETE', `${grants}/${grant.id}`)).status).toBe(404)
  })
})

describe('the audit log', () => {
  it('is followed: every later event comes once, with the management key as its actor', async () => {
    let cursor = await drain('0')
    const { id } = await makeManagedAccount(call)
    await call('POST', `/accounts/${id}/users`, { email: 'eve@acme.example' })
    const kinds: string[] = []
    await expect
      .poll(
        async () => {
          const { body } = await call('GET', `/audit?account=${id}&cursor=${cursor}`)
          cursor = body.next
          for (const event of body.items) {
            expect(event).toMatchObject({ actor_kind: 'management_key', via: 'api', account_id: id })
            kinds.push(event.kind)
          }
          return kinds
        },
        { timeout: 30_000 },
      )
      .toEqual(['account.created', 'user.created'])
  })

  async function drain(cursor: string): Promise<string> {
    const { body } = await call('GET', `/audit?limit=200&cursor=${cursor}`)
    return body.next === cursor ? cursor : drain(body.next)
  }
})
