/** What is refused is recorded: failed sign-ins, lock-outs, sign-outs, step-ups and refused pages. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordRefusals } from '../../../src/flows/sign-in/refusals.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { type MadeUser, makeUser } from '../../rig/make.ts'
import { freshNetwork } from '../../rig/network/fresh-network.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { textOf, type Web } from '../../rig/web.ts'
import { mailsOf } from '../../rig/witness.ts'

const HOUR = 60 * 60 * 1000
const PASSWORD = 'a quiet green harbour'
const { t } = wordsFor('en')

let service: TestService
beforeAll(async () => {
  service = await startTestService({ TRUST_PROXY: '127.0.0.1' }, { clock: true })
})
afterAll(() => service.stop())

const from = (network: string, agent = 'Firefox on Linux') =>
  service.web({ 'x-forwarded-for': `${network}.7`, 'user-agent': agent })
const somebody = (holds?: string[]) =>
  makeUser(service.context.db, service.account.slug, { password: PASSWORD, ...(holds ? { holds } : {}) })
const signIn = (web: Web, email: string, password: string) =>
  web.send('POST', '/sign-in', { email, password, next: '/' })
const failTimes = async (network: string, email: string, times: number) => {
  for (let time = 0; time < times; time += 1) await signIn(from(network), email, 'wrong')
}

type Event = { readonly kind: string; readonly actor_kind: string; readonly detail: Record<string, unknown> }
const eventsOf = (user: MadeUser, kind: string) =>
  service.database.query<Event>(
    'select kind, actor_kind, detail from audit_events where user_id = $1 and kind = $2 order by id',
    [user.id, kind],
  )
const anHourLater = async () => {
  await service.context.refusals.save()
  await service.database.advance(HOUR)
  await recordRefusals(service.context.db)
}

describe('failed sign-ins', () => {
  it('are one event for an address, a network and an hour, with their count, when the hour is over', async () => {
    const user = await somebody()
    const [one, other] = [freshNetwork(), freshNetwork()]
    await failTimes(one, user.email, 3)
    await failTimes(other, user.email, 2)
    await service.context.refusals.save()
    await failTimes(one, user.email, 1)
    await service.context.refusals.save()
    expect(await eventsOf(user, 'session.refused')).toEqual([])
    await anHourLater()
    const events = await eventsOf(user, 'session.refused')
    events.sort((a, b) => Number(b.detail.count) - Number(a.detail.count))
    expect(events.map(({ actor_kind, detail }) => [actor_kind, detail.network, detail.reason, detail.count])).toEqual([
      ['anonymous', `${one}.0/24`, 'password', 4],
      ['anonymous', `${other}.0/24`, 'password', 2],
    ])
    await recordRefusals(service.context.db)
    expect(await eventsOf(user, 'session.refused')).toHaveLength(2)
  })

  it('with an address that nobody has are recorded without a user, and without the address', async () => {
    const network = freshNetwork()
    await failTimes(network, 'nobody@acme.example', 2)
    await anHourLater()
    const rows = await service.database.query<{ user_id: string | null; text: string; detail: Event['detail'] }>(
      "select user_id, detail, detail::text as text from audit_events where kind = 'session.refused' and detail->>'network' = $1",
      [`${network}.0/24`],
    )
    expect(rows).toMatchObject([
      { user_id: null, detail: { count: 2, address: expect.stringMatching(/^[0-9a-f]{16}$/) } },
    ])
    expect(rows[0]?.text).not.toContain('nobody@')
  })

  it('appear in the administrator’s console', async () => {
    const user = await somebody()
    await failTimes(freshNetwork(), user.email, 1)
    await anHourLater()
    const web = await signInAs(service, await somebody())
    const page = await web.get(`/account/audit?person=${encodeURIComponent(user.email)}`)
    expect(textOf(page.text)).toContain(t('audit_kind.session.refused'))
  })
})

describe('a lock-out', () => {
  it('is recorded at once, and mailed to the user at most once a day', async () => {
    const user = await somebody()
    const network = freshNetwork()
    await failTimes(network, user.email, 12)
    await service.context.refusals.save()
    expect(await eventsOf(user, 'session.locked')).toMatchObject([{ detail: { network: `${network}.0/24` } }])
    expect(await mailsOf(service, user)).toEqual(['sign_in_locked'])

    await service.database.advance(2 * HOUR)
    await failTimes(network, user.email, 12)
    await service.context.refusals.save()
    expect(await eventsOf(user, 'session.locked')).toHaveLength(2)
    expect(await mailsOf(service, user)).toEqual(['sign_in_locked'])

    await service.database.advance(25 * HOUR)
    await failTimes(network, user.email, 12)
    await service.context.refusals.save()
    expect(await mailsOf(service, user)).toEqual(['sign_in_locked', 'sign_in_locked'])
  })
})

describe('sessions', () => {
  it('are recorded when they start, with network and browser, when they are confirmed and when they end', async () => {
    const user = await somebody()
    const network = freshNetwork()
    const web = from(network)
    await web.signIn(user.email, PASSWORD)
    const where = { network: `${network}.0/24`, browser: 'Firefox on Linux' }
    expect((await eventsOf(user, 'session.started')).map(({ detail }) => detail)).toEqual([
      { how: 'password', ...where },
    ])
    await web.get('/confirm')
    await web.submit('/confirm', { password: PASSWORD, code: '' })
    expect((await eventsOf(user, 'session.confirmed')).map(({ detail }) => detail)).toEqual([
      { how: 'password', ...where },
    ])
    await web.get('/')
    await web.submit('/sign-out')
    expect(await eventsOf(user, 'session.ended')).toHaveLength(1)
  })
})

it('pages that a user may not open are one event for a page, a network and an hour', async () => {
  const clerk = await somebody(['orders:read'])
  const web = await signInAs(service, clerk, { headers: { 'x-forwarded-for': '203.0.113.9' } })
  for (let time = 0; time < 3; time += 1) expect((await web.send('GET', '/account/people')).status).toBe(403)
  await anHourLater()
  expect(await eventsOf(clerk, 'page.refused')).toEqual([
    {
      kind: 'page.refused',
      actor_kind: 'user',
      detail: { reason: '/account/people', network: '203.0.113.0/24', count: 3, hour: expect.any(String) },
    },
  ])
})

describe('an attempt', () => {
  it('is no failure when PostgreSQL does not answer after a right password, also not later', async () => {
    const user = await somebody()
    await service.database.query(`
      create function refuse_session() returns trigger language plpgsql as $$
        begin raise exception 'not now' using errcode = '53300'; end $$;
      create trigger refuse_session before insert on sessions for each row execute function refuse_session();
      create trigger refuse_release before delete on sign_in_failures for each row execute function refuse_session()`)
    const web = from(freshNetwork())
    expect((await signIn(web, user.email, PASSWORD)).status).toBe(503)
    const left = () => service.database.query('select from sign_in_failures where network is not null')
    const before = await left()
    await service.database.query('drop function refuse_session cascade')
    await service.context.attempts.releaseWaiting()
    expect((await left()).length).toBe(before.length - 1)
    expect((await signIn(web, user.email, PASSWORD)).status).toBe(303)
  })
})
