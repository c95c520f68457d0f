/** MK-03 … MK-05: what the holder of a stolen management key tries, to make an administrator or to give what it may not. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeUser } from '../../rig/make.ts'
import { makeManagementKey } from '../../rig/manage.ts'
import { needs } from '../../rig/origins/needs.ts'
import { fresh, type StolenKeys, startStolenKeys } from '../../rig/scenes/stolen-keys.ts'
import type { TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { mailsOf } from '../../rig/witness.ts'

let stolen: StolenKeys
let service: TestService
let users: string
beforeAll(async () => {
  stolen = await startStolenKeys()
  service = stolen.service
  users = stolen.users
})
afterAll(() => stolen.stop())

/** Every user, and what each holds. */
const accessNow = () =>
  service.database.query(
    `select u.id, u.email, u.name, u.permissions, u.disabled_at,
       array(select r.role_id from user_roles r where r.user_id = u.id order by 1) as roles
     from users u order by u.id`,
  )

describe('MK-03: an administrator', () => {
  const administratorsNow = () =>
    service.database.query(
      'select user_id from user_roles join users u on u.id = user_id where role_id = $1 and u.disabled_at is null order by 1',
      [stolen.roles.administrator],
    )

  it.each([['users:write'], ['users:write roles:write']])('is not made by a key with %s', async (scopes) => {
    const call = await stolen.keyWith(...scopes.split(' '))
    const ben = await stolen.somebody()
    const before = await accessNow()
    const answers = [
      await call('POST', users, { email: fresh('mallory'), roles: [stolen.roles.administrator], invite: true }),
      await call('POST', users, { email: fresh('mallory'), roles: [stolen.roles.administrator] }),
      await call('PATCH', `${users}/${ben.id}`, { roles: [stolen.roles.administrator] }),
      await call('PATCH', `${users}/${ben.id}?dry_run=true`, { roles: [stolen.roles.administrator] }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403])
    const missing = scopes.includes('roles:write') ? 'administrators:write' : 'roles:write'
    expect(answers.map(({ body }) => body.message)).toEqual(
      Array.from(answers, () => `The management key does not have the scope ${missing}.`),
    )
    expect(await accessNow()).toEqual(before)
  })

  it('is not made by editing or creating a role', async () => {
    const call = await stolen.keyWith('users:write', 'roles:write', 'scopes:read')
    const roles = `/accounts/${service.account.slug}/roles`
    const every = (await call('GET', '/scopes')).body.items.map(({ name }: { name: string }) => name)
    expect((await call('POST', roles, { name: 'all', scopes: every, holds_every_scope: true })).status).toBe(400)
    expect((await call('PATCH', `${roles}/${stolen.roles.clerk}`, { holds_every_scope: true })).status).toBe(400)
    const { id } = (await call('POST', roles, { name: 'all', scopes: every })).body
    const { body } = await call('POST', users, { email: fresh('mallory'), roles: [id] })
    expect(body.administrator).toBe(false)
  })

  it('who was disabled is not enabled by a key for users or for SCIM', async () => {
    const boss = await stolen.somebody('administrator')
    // The last one who can sign in is not disabled.
    await stolen.somebody('administrator')
    const key = await stolen.keyWith('users:write', 'roles:write', 'scim')
    expect((await key('PATCH', `${users}/${boss.id}`, { disabled: true })).status).toBe(200)
    const before = await administratorsNow()
    expect((await key('PATCH', `${users}/${boss.id}`, { disabled: false })).status).toBe(403)
    const activate = { Operations: [{ op: 'replace', value: { active: true } }] }
    expect((await key('PATCH', `/scim/2/Users/${boss.id}`, activate)).body).toMatchObject({ status: '403' })
    expect(await administratorsNow()).toEqual(before)
    const may = await stolen.keyWith('users:write', 'administrators:write')
    expect((await may('PATCH', `${users}/${boss.id}`, { disabled: false })).status).toBe(200)
  })

  it('is not made of an invited one by a change of the address', needs('recovery'), async () => {
    const invited = await makeUser(service.context.db, service.account.slug)
    const call = await stolen.keyWith('users:write', 'roles:write', 'scim')
    await call('PATCH', `${users}/${invited.id}`, { email: fresh('mallory') })
    expect(await stolen.emailOf(invited)).toBe(invited.email)
  })

  it('whom a key makes with its scope is mailed to all others', async () => {
    const other = await stolen.somebody('administrator')
    const call = await stolen.keyWith('users:write', 'roles:write', 'administrators:write')
    const { body } = await call('POST', users, {
      email: fresh('boss'),
      roles: [stolen.roles.administrator],
      invite: true,
    })
    expect(body.administrator).toBe(true)
    expect(await mailsOf(service, other)).toEqual(['administrator_made'])
    expect((await stolen.mailbox.waitFor(({ to }) => to === other.email)).text).toContain(body.email)
    expect(await mailsOf(service, body)).toEqual(['invitation'])
    const promoted = await stolen.somebody()
    await call('PATCH', `${users}/${promoted.id}`, { roles: [stolen.roles.administrator] })
    expect(await mailsOf(service, other)).toEqual(['administrator_made', 'administrator_made'])
  })

  it('whom an administrator makes on a page is not', async () => {
    const ben = await stolen.somebody()
    const before = await mailsOf(service, service.user)
    const web = await signInAs(service, service.user)
    await web.get(`/account/person?user=${ben.id}`)
    await web.submit('/account/person', { [`role.${stolen.roles.administrator}`]: 'on' })
    expect((await (await stolen.keyWith('users:read'))('GET', `${users}/${ben.id}`)).body.administrator).toBe(true)
    expect(await mailsOf(service, service.user)).toEqual(before)
  })
})

describe('MK-04: roles and permissions', () => {
  it('are not given by a key for users, but taken away', async () => {
    const call = await stolen.keyWith('users:write')
    const ben = await stolen.somebody()
    const before = await accessNow()
    const answers = [
      await call('POST', users, { email: fresh('new'), roles: [stolen.roles.clerk] }),
      await call('POST', users, { email: fresh('new'), permissions: ['orders:write'] }),
      await call('PATCH', `${users}/${ben.id}`, { permissions: ['orders:write'] }),
      await call('PATCH', `${users}/${ben.id}`, { name: 'Ben', permissions: ['orders:write'] }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403])
    expect(await accessNow()).toEqual(before)
    expect((await call('PATCH', `${users}/${ben.id}`, { roles: [] })).body.roles).toEqual([])
    const may = await stolen.keyWith('users:write', 'roles:write')
    const wish = { roles: [stolen.roles.clerk], permissions: ['orders:write'] }
    expect((await may('PATCH', `${users}/${ben.id}`, wish)).body).toMatchObject(wish)
    expect((await call('PATCH', `${users}/${ben.id}`, { ...wish, name: 'Ben' })).status).toBe(200)
    expect((await call('PATCH', `${users}/${ben.id}`, { permissions: [] })).body.permissions).toEqual([])
  })

  it('are not given by SCIM, whatever it names', async () => {
    const scim = await stolen.keyWith('scim')
    const userName = fresh('new')
    const named = {
      userName,
      roles: [{ value: stolen.roles.administrator, primary: true }],
      entitlements: [{ value: 'orders:write' }],
    }
    const { id } = (await scim('POST', '/scim/2/Users', named)).body
    await scim('PATCH', `/scim/2/Users/${id}`, {
      Operations: [{ op: 'add', path: 'roles', value: [stolen.roles.administrator] }],
    })
    const reader = await stolen.keyWith('users:read')
    expect((await reader('GET', `${users}/${id}`)).body).toMatchObject({
      roles: [],
      permissions: [],
      administrator: false,
    })
  })
})

describe('MK-05: SCIM', () => {
  it('is reached with its own scope only, which reaches nothing else', async () => {
    const scim = await stolen.keyWith('scim')
    expect((await scim('GET', '/scim/2/Users')).status).toBe(200)
    const { slug } = service.account
    for (const path of ['', '/users', '/roles', '/applications', '/grants']) {
      expect((await scim('GET', `/accounts/${slug}${path}`)).status).toBe(403)
    }
    for (const path of ['/accounts', '/scopes', '/audit', '/reviews'])
      expect((await scim('GET', path)).status).toBe(403)
    expect((await scim('POST', users, { email: fresh('new') })).status).toBe(403)

    const every = await stolen.keyWith(
      'users:write',
      'roles:write',
      'administrators:write',
      'accounts:write',
      'audit:read',
    )
    expect((await every('GET', '/scim/2/Users')).body).toMatchObject({ status: '403' })
    expect((await every('POST', '/scim/2/Users', { userName: fresh('new') })).body).toMatchObject({ status: '403' })
    await expect(makeManagementKey(service, { scopes: ['scim'] })).rejects.toThrow('one account')
  })
})
