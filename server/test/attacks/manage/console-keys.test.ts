/** FD-64 and FD-65: what administrators and operators may try with management keys in the consoles. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { makeManagementKey, manageClient } from '../../rig/manage.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor, signInAs } from '../../rig/signed-in.ts'
import type { Web } from '../../rig/web.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators', LOG_LEVEL: 'silent' })
})
afterAll(() => service.stop())

type Visitor = { readonly user: MadeUser; readonly web: Web }

/** Sends a form that is signed for this session, as if the page had shown it. */
async function sendForm({ user, web }: Visitor, path: string, key: string | null, free: Record<string, string>) {
  const bound: Record<string, string> = key === null ? {} : { key }
  return web.send('POST', path, { ...free, ...(await signedFor(service, user, path, bound)) })
}

const CHOSEN = { days: '90', overlap: '0', label: 'Mine' }
const keysNow = () => service.database.query('select * from management_keys order by id')
const works = async (key: string) => (await manageClient(service.address, key)('GET', '/scopes')).status === 200

describe('one operator', () => {
  let operator: Visitor
  beforeAll(async () => {
    const account = await makeAccount(service.context.db, { slug: 'operators' })
    const user = await makeUser(service.context.db, account.slug)
    operator = { user, web: await signInAs(service, user, { account }) }
  })

  it('FD-64: makes no key that changes every account', async () => {
    const before = await keysNow()
    const form = { ...CHOSEN, 'scope.users:write': 'on', 'scope.users:read': 'on' }
    expect((await sendForm(operator, '/operator/keys', null, form)).status).toBe(400)
    expect(await keysNow()).toEqual(before)
    const reading = { ...CHOSEN, 'scope.users:read': 'on' }
    expect((await sendForm(operator, '/operator/keys', null, reading)).status).toBe(200)
  })

  it('FD-64: does not get the secret of one', async () => {
    const { id, key } = await makeManagementKey(service, { scopes: ['users:write', 'scopes:read'] })
    const before = await keysNow()
    expect((await sendForm(operator, '/operator/keys/rotate', id, CHOSEN)).status).toBe(400)
    expect(await keysNow()).toEqual(before)
    expect(await works(key)).toBe(true)
  })

  it('FD-64: makes no key of the operators’ account', async () => {
    const before = await keysNow()
    const form = { ...CHOSEN, 'scope.users:write': 'on' }
    expect((await sendForm(operator, '/account/keys', null, form)).status).toBe(403)
    expect(await keysNow()).toEqual(before)
  })
})

describe('an administrator', () => {
  let administrator: Visitor
  beforeAll(async () => {
    administrator = { user: service.user, web: await signInAs(service, service.user) }
  })

  it.each(['another account', 'the whole service'])('FD-65: neither sees nor changes a key of %s', async (whose) => {
    const other = whose === 'another account' ? { account: (await makeAccount(service.context.db)).slug } : {}
    const { id, key } = await makeManagementKey(service, { ...other, scopes: ['scopes:read'], label: 'Not yours' })
    const before = await keysNow()
    const { web } = administrator
    expect((await web.send('GET', '/account/keys')).text).not.toContain('Not yours')
    expect((await web.send('GET', `/account/keys/key?key=${id}`)).status).toBe(404)
    for (const path of ['/account/keys/rotate', '/account/keys/revoke']) {
      expect((await sendForm(administrator, path, id, CHOSEN)).status).toBe(404)
    }
    expect(await keysNow()).toEqual(before)
    expect(await works(key)).toBe(true)
  })

  it('FD-65: makes no key with scopes of the whole service', async () => {
    const before = await keysNow()
    const form = { ...CHOSEN, 'scope.scopes:write': 'on' }
    expect((await sendForm(administrator, '/account/keys', null, form)).status).toBe(400)
    expect(await keysNow()).toEqual(before)
  })

  it('FD-65: a clerk makes and revokes none', async () => {
    const user = await makeUser(service.context.db, service.account.slug, { holds: [] })
    const clerk = { user, web: await signInAs(service, user) }
    const { id } = await makeManagementKey(service, { account: service.account.slug, scopes: ['scopes:read'] })
    const before = await keysNow()
    const form = { ...CHOSEN, 'scope.users:read': 'on' }
    expect((await sendForm(clerk, '/account/keys', null, form)).status).toBe(403)
    expect((await sendForm(clerk, '/account/keys/revoke', id, {})).status).toBe(403)
    expect(await keysNow()).toEqual(before)
  })
})
