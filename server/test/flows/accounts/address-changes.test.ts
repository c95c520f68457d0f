/** Changes of addresses by programs, as an identity provider, an administrator and a company that moves see them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readAddressChanges } from '../../../src/flows/accounts/change-address.ts'
import { sweep } from '../../../src/flows/sweep.ts'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { type ManageClient, makeManagementKey, manageClient } from '../../rig/manage.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { textOf, type Web } from '../../rig/web.ts'
import { mailsOf } from '../../rig/witness.ts'

const PASSWORD = 'a quiet green harbour'
const HOUR = 60 * 60 * 1000

let service: TestService
let account: { id: string; slug: string }
let admin: MadeUser
let scim: ManageClient
let web: Web
beforeAll(async () => {
  service = await startTestService({ LOG_LEVEL: 'silent' }, { clock: true })
})
afterAll(() => service.stop())
beforeEach(async () => {
  account = await makeAccount(service.context.db)
  admin = await makeUser(service.context.db, account.slug, { email: 'admin@old.example' })
  scim = manageClient(
    service.address,
    (await makeManagementKey(service, { account: account.slug, scopes: ['scim', 'users:read'], label: 'Directory' }))
      .key,
  )
  web = await signInAs(service, admin, { account })
})

const user = (name: string) =>
  makeUser(service.context.db, account.slug, { email: `${name}@old.example`, holds: [], password: PASSWORD })
const rename = (who: MadeUser, value: string) =>
  scim('PATCH', `/scim/2/Users/${who.id}`, { Operations: [{ op: 'replace', path: 'userName', value }] })
const named = async (userName: string) =>
  (await scim('GET', `/scim/2/Users?filter=${encodeURIComponent(`userName eq "${userName}"`)}`)).body.Resources
const emails = async () =>
  (
    await service.database.query<{ email: string }>('select email from users where account_id = $1 order by 1', [
      account.id,
    ])
  ).map(({ email }) => email)
const marksOn = (html: string) => Array.from(html.matchAll(/name="change\.([\w-]+)"/g), ([, mark = '']) => mark)

describe('an identity provider', () => {
  it('finds the user by the address that it sent, and nobody by the present one', async () => {
    const ann = await user('ann')
    expect((await rename(ann, 'ann.lee@old.example')).body.userName).toBe('ann.lee@old.example')
    expect((await named('ann.lee@old.example')).map(({ id }: MadeUser) => id)).toEqual([ann.id])
    expect(await named('ann@old.example')).toEqual([])
    expect((await scim('GET', `/scim/2/Users/${ann.id}`)).body).toMatchObject({
      userName: 'ann.lee@old.example',
      emails: [{ value: 'ann.lee@old.example' }],
    })
    const api = (await scim('GET', `/accounts/${account.slug}/users?email=ann@old.example`)).body.items
    expect(api).toMatchObject([{ email: 'ann@old.example', pending_email: 'ann.lee@old.example' }])
    expect((await scim('POST', '/scim/2/Users', { userName: 'ann@old.example' })).body).toMatchObject({
      ...{ status: '409', scimType: 'uniqueness' },
    })
  })

  it('may send the same address again and again: the user and the administrators get one mail', async () => {
    const ann = await user('ann')
    for (let time = 0; time < 5; time += 1) expect((await rename(ann, 'ann@new.example')).status).toBe(200)
    expect(await mailsOf(service, ann)).toEqual(['address_change'])
    expect(await mailsOf(service, admin)).toEqual(['address_changes'])
  })

  it('sees the present address again when nobody confirmed within seven days', async () => {
    const ann = await user('ann')
    await rename(ann, 'ann@new.example')
    await service.database.query('update address_changes set expires_at = now() where user_id = $1', [ann.id])
    expect((await named('ann@old.example')).map(({ id }: MadeUser) => id)).toEqual([ann.id])
    expect((await scim('POST', '/scim/2/Users', { userName: 'ann@new.example' })).status).toBe(201)
    await sweep(service.context.db, service.config)
    expect(await service.database.query('select from address_changes where user_id = $1', [ann.id])).toEqual([])
  })
})

describe('administrators', () => {
  it('are mailed once an hour, whenever there is something new', async () => {
    const kinds = async () => (await mailsOf(service, admin)).length
    await rename(await user('ann'), 'ann@new.example')
    expect(await kinds()).toBe(1)
    await rename(await user('ben'), 'ben@new.example')
    await rename(await user('eve'), 'eve@new.example')
    expect(await kinds()).toBe(2)
    const due = await service.database.query<{ waits: boolean }>(
      "select due_at > created_at + interval '59 minutes' as waits from mails where user_id = $1 order by id",
      [admin.id],
    )
    expect(due.map(({ waits }) => waits)).toEqual([false, true])
    await service.database.advance(3 * HOUR)
    await rename(await user('joe'), 'joe@new.example')
    expect(await kinds()).toBe(3)
  })

  it('see on their first page and with the users that changes wait', async () => {
    await rename(await user('ann'), 'ann@new.example')
    for (const path of ['/', '/account/people'])
      expect(textOf((await web.get(path)).text)).toContain('1 change of an e-mail address awaits confirmation')
  })

  it('change a domain of all users in one act, without a user whose name changes as well', async () => {
    const names = ['ann', 'ben', 'eve']
    for (const name of names) await rename(await user(name), `${name}@new.example`)
    const joe = await user('joe')
    await rename(joe, 'mallory@new.example')
    const page = await web.get('/account/people/addresses')
    expect(textOf(page.text)).toContain('All 3 changes from @old.example to @new.example')
    const [all = ''] = marksOn(page.text)
    await web.submit('/account/people/addresses', { [`change.${all}`]: 'on', decision: 'change' })
    expect(await emails()).toEqual([
      'admin@old.example',
      'ann@new.example',
      'ben@new.example',
      'eve@new.example',
      joe.email,
    ])
    expect((await readAddressChanges(service.context, account.id)).others).toMatchObject([{ userId: joe.id }])
  })

  it('keep addresses in one act as well', async () => {
    for (const name of ['ann', 'ben']) await rename(await user(name), `${name}@new.example`)
    const [all = ''] = marksOn((await web.get('/account/people/addresses')).text)
    await web.submit('/account/people/addresses', { [`change.${all}`]: 'on', decision: 'keep' })
    expect(await emails()).toEqual(['admin@old.example', 'ann@old.example', 'ben@old.example'])
    expect(await readAddressChanges(service.context, account.id)).toEqual({ domains: [], others: [], more: false })
  })

  it('change nothing without a tick, and nothing of a list that has changed', async () => {
    for (const name of ['ann', 'ben']) await rename(await user(name), `${name}@new.example`)
    const [all = ''] = marksOn((await web.get('/account/people/addresses')).text)
    expect((await web.submit('/account/people/addresses', { decision: 'change' })).status).toBe(400)
    await rename(await user('eve'), 'eve@new.example')
    expect(
      (await web.submit('/account/people/addresses', { [`change.${all}`]: 'on', decision: 'change' })).status,
    ).toBe(400)
    expect(await emails()).not.toContain('ann@new.example')
  })

  it('are told which address another user has by now, and the other changes are made', async () => {
    for (const name of ['ann', 'ben']) await rename(await user(name), `${name}@new.example`)
    const other = await makeUser(service.context.db, account.slug, { holds: [] })
    await service.database.query("update users set email = 'ben@new.example' where id = $1", [other.id])
    const [all = ''] = marksOn((await web.get('/account/people/addresses')).text)
    const page = await web.submit('/account/people/addresses', { [`change.${all}`]: 'on', decision: 'change' })
    expect([page.status, textOf(page.text).includes('ben@new.example')]).toEqual([400, true])
    expect(await emails()).toEqual(['admin@old.example', 'ann@new.example', 'ben@new.example', 'ben@old.example'])
  })
})

it('a change of an erased user is gone with them', async () => {
  const ann = await user('ann')
  await rename(ann, 'ann@new.example')
  expect((await scim('DELETE', `/scim/2/Users/${ann.id}`)).status).toBe(204)
  expect(await service.database.query('select from address_changes where account_id = $1', [account.id])).toEqual([])
})
