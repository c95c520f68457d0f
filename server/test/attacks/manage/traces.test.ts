/** MK-06 … MK-08: what is left of requests with a management key, from where one is accepted, and what its name may say. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeKey, rotateKey } from '../../../src/flows/manage/keys.ts'
import { recordRefusals } from '../../../src/flows/sign-in/refusals.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { makeManagementKey, makerOf, manageClient } from '../../rig/manage.ts'
import { freshNetwork } from '../../rig/network/fresh-network.ts'
import { type Mailbox, startMailbox } from '../../rig/network/mailbox.ts'
import { needs } from '../../rig/origins/needs.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { textOf } from '../../rig/web.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

let service: TestService
let mailbox: Mailbox
let users: string
beforeAll(async () => {
  mailbox = await startMailbox()
  const settings = { SMTP_URL: mailbox.url, MAIL_FROM: 'latchkey@service.example', OPERATOR_ACCOUNT: 'operators' }
  service = await startTestService({ ...settings, TRUST_PROXY: '127.0.0.1', LOG_LEVEL: 'silent' }, { clock: true })
  users = `/accounts/${service.account.slug}/users`
})
afterAll(async () => {
  await service.stop()
  await mailbox.stop()
})

const ofAccount = (given: { scopes?: readonly string[]; networks?: string; label?: string } = {}) =>
  makeManagementKey(service, { account: service.account.slug, ...given })

/** `network`: the first three numbers of its addresses. */
const call = (key: string, network: string, method = 'GET', path = users, body?: unknown) =>
  manageClient(service.address, key)(method, path, body, { 'x-forwarded-for': `${network}.7` })

type Event = {
  kind: string
  actor_kind: string
  actor_id: string
  via: string
  account_id: string | null
  detail: Record<string, unknown>
}
const eventsBy = (actor: string, kind: string) =>
  service.database.query<Event>(
    'select kind, actor_kind, actor_id, via, account_id, detail from audit_events where actor_id = $1 and kind = $2 order by id',
    [actor, kind],
  )
const anHourLater = async () => {
  await service.context.refusals.save()
  await service.database.advance(HOUR)
  await recordRefusals(service.context.db)
}
const newNetworkMails = () => mailbox.mails.filter(({ subject }) => subject.includes('new network')).length

describe('MK-06: a management key', () => {
  it('names its network in every event of a change, whichever flow records it', async () => {
    const { id, key } = await ofAccount()
    const network = freshNetwork()
    const user = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
    const { user_code } = await service.device('key').code()
    await service.grant(user_code, user)
    await call(key, network, 'PATCH', `${users}/${user.id}`, { name: 'Ben', disabled: true })
    await call(key, network, 'DELETE', `${users}/${user.id}`)
    await call(key, network, 'POST', `/accounts/${service.account.slug}/roles`, { name: 'Clerk', scopes: [] })
    const events = await service.database.query<Event>('select kind, detail from audit_events where actor_id = $1', [
      id,
    ])
    expect(new Set(events.map(({ kind }) => kind))).toEqual(
      new Set([
        'management_key.network_added',
        'user.updated',
        'user.disabled',
        'grant.revoked',
        'user.erased',
        'role.created',
      ]),
    )
    expect(new Set(events.map(({ detail }) => detail.network))).toEqual(new Set([`${network}.0/24`]))
  })

  it('used from a second network is recorded and mailed to the administrators, at most once a day', async () => {
    const { id, key } = await ofAccount({ label: 'Directory' })
    const [office, thief, third] = [freshNetwork(), freshNetwork(), freshNetwork()]
    await call(key, office)
    await service.database.advance(2 * MINUTE)
    await call(key, office)
    expect(newNetworkMails()).toBe(0)
    await call(key, thief)
    const mail = await mailbox.waitFor(({ text }) => text.includes(`${thief}.0/24`))
    expect([mail.to, mail.text.includes('Directory')]).toEqual([service.user.email, true])
    await service.database.advance(2 * MINUTE)
    await call(key, third)
    expect((await eventsBy(id, 'management_key.network_added')).map(({ detail }) => detail.network)).toEqual(
      [office, thief, third].map((each) => `${each}.0/24`),
    )
    const kinds = await service.database.query("select from mails where kind = 'key_network'")
    expect(kinds).toHaveLength(1)
  })

  it('used from many networks at once does not fill the log', async () => {
    const { id, key } = await ofAccount()
    for (let time = 0; time < 5; time += 1) await call(key, freshNetwork())
    expect(await eventsBy(id, 'management_key.network_added')).toHaveLength(1)
  })

  it('of the whole service is mailed to the operators', async () => {
    const operators = await makeAccount(service.context.db, { slug: 'operators' })
    const operator = await makeUser(service.context.db, operators.slug)
    const { key } = await makeManagementKey(service)
    await call(key, freshNetwork())
    await service.database.advance(2 * MINUTE)
    await call(key, freshNetwork())
    expect((await mailbox.waitFor(({ to }) => to === operator.email)).subject).toContain('new network')
  })

  it('with networks is refused from elsewhere as an unknown one is, and recorded', async () => {
    const inside = freshNetwork()
    const { id, key } = await ofAccount({ networks: `${inside}.0/24, 2001:db8::/32` })
    expect((await call(key, inside)).status).toBe(200)
    const outside = freshNetwork()
    const refused = await call(key, outside)
    const unknown = await call(`lkm_${'x'.repeat(43)}`, outside)
    expect([refused.status, refused.body]).toEqual([401, unknown.body])
    const v6 = (address: string) =>
      manageClient(service.address, key)('GET', users, undefined, { 'x-forwarded-for': address })
    expect([(await v6('2001:db8:1::7')).status, (await v6('2001:db9::7')).status]).toEqual([200, 401])
    await anHourLater()
    const [event] = await eventsBy(id, 'management_key.refused')
    expect(event).toMatchObject({
      account_id: service.account.id,
      detail: { reason: 'network', network: `${outside}.0/24` },
    })
  })

  it('shows in the console from where it was last used, and from where it may be used', async () => {
    const network = freshNetwork()
    const { id, key } = await ofAccount({ networks: `${network}.0/24` })
    await call(key, network)
    const web = await signInAs(service, service.user)
    expect(textOf((await web.get('/account/keys')).text)).toContain(`${network}.0/24`)
    expect(textOf((await web.get(`/account/keys/key?key=${id}`)).text)).toContain(`Networks ${network}.0/24`)
  })

  it('gets only networks as networks', async () => {
    for (const networks of ['here', '192.0.2.0/33', '192.0.2.0/24/1', Array(21).fill('192.0.2.0/24').join(' ')])
      await expect(ofAccount({ networks })).rejects.toThrow('Networks are written')
  })
})

describe('MK-07: refused requests', () => {
  it('with a key that lacks a scope, at first or within the change, are one event for a scope, a network and an hour', async () => {
    const { id, key } = await ofAccount({ scopes: ['users:write'] })
    const network = freshNetwork()
    for (let time = 0; time < 3; time += 1) await call(key, network, 'GET', `/accounts/${service.account.slug}/roles`)
    await call(key, network, 'POST', users, { email: 'new@acme.example', permissions: ['orders:read'] })
    await anHourLater()
    const events = await eventsBy(id, 'management_key.refused')
    const about = { actor_kind: 'management_key', via: 'api', account_id: service.account.id }
    expect(events).toMatchObject([
      { ...about, detail: { reason: 'roles:read', network: `${network}.0/24`, count: 3 } },
      { ...about, detail: { reason: 'roles:write', network: `${network}.0/24`, count: 1 } },
    ])
    const web = await signInAs(service, service.user)
    expect(textOf((await web.get('/account/audit')).text)).toContain('Refused requests with a management key')
  })

  it('with a revoked, replaced or expired key name it', async () => {
    const network = freshNetwork()
    const [revoked, replaced, expired] = [await ofAccount(), await ofAccount(), await ofAccount()]
    await revokeKey(makerOf(service), revoked.id)
    await rotateKey(makerOf(service), replaced.id, { overlapMs: 0, lifetimeMs: HOUR })
    await service.database.query('update management_keys set expires_at = now() where id = $1', [expired.id])
    for (const { key } of [revoked, replaced, expired]) expect((await call(key, network)).status).toBe(401)
    await anHourLater()
    for (const [{ id }, reason] of [
      [revoked, 'revoked'],
      [replaced, 'replaced'],
      [expired, 'expired'],
    ] as const)
      expect((await eventsBy(id, 'management_key.refused')).map(({ detail }) => detail.reason)).toEqual([reason])
  })

  it('with a key of another account, or none, are recorded', async () => {
    const other = await makeAccount(service.context.db)
    const { id, key } = await makeManagementKey(service, { account: other.slug })
    const network = freshNetwork()
    expect((await call(key, network)).status).toBe(404)
    for (const wrong of ['lkm_wrong', 'nothing']) expect((await call(wrong, network)).status).toBe(401)
    await anHourLater()
    expect(await eventsBy(id, 'management_key.refused')).toMatchObject([
      { account_id: other.id, detail: { reason: 'account' } },
    ])
    const [unknown] = await service.database.query<Event>(
      "select actor_kind, account_id, detail from audit_events where kind = 'management_key.refused' and actor_kind = 'anonymous' and detail->>'network' = $1",
      [`${network}.0/24`],
    )
    expect(unknown).toMatchObject({ account_id: null, detail: { reason: 'unknown', count: 2 } })
  })
})

describe('MK-08: the name of a management key', () => {
  it.each(['URGENT: https://evil.example/verify', 'www.evil.example', 'see evil.example', 'a\u202eb'])(
    'is not %j',
    async (label) => {
      await expect(ofAccount({ label })).rejects.toThrow('A label has')
    },
  )

  it('is in no mail to an invited stranger, also if it was made before', needs('invitation'), async () => {
    const { id, key } = await ofAccount()
    const label = 'URGENT: https://evil.example/verify'
    await service.database.query('update management_keys set label = $2 where id = $1', [id, label])
    await call(key, freshNetwork(), 'POST', users, { email: 'stranger@elsewhere.example', invite: true })
    const { text } = await mailbox.waitFor(({ to }) => to === 'stranger@elsewhere.example')
    expect(text).not.toContain('evil')
    expect(text).toContain(`A program of ${service.web().host} has invited you`)
  })
})
