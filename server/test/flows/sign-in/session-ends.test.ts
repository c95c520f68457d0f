/** When sessions end: unused, too many, one by one. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MAX_SESSIONS } from '../../../src/flows/sign-in/sessions.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor, signInAs } from '../../rig/signed-in.ts'
import { textOf, type Web } from '../../rig/web.ts'
import { eventKinds, sessionsOf } from '../../rig/witness.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const PASSWORD = 'a quiet green harbour'
const { t } = wordsFor('en')

let service: TestService
let operators: { readonly id: string; readonly slug: string }
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' }, { clock: true })
  operators = await makeAccount(service.context.db, { slug: 'operators' })
})
afterAll(() => service.stop())

let user: MadeUser
beforeEach(async () => {
  user = await makeUser(service.context.db, service.account.slug, { password: PASSWORD })
})

const isSignedIn = async (web: Web) => (await web.send('GET', '/')).status === 200
const advance = (ms: number) => service.database.advance(ms)
const lastUse = async () => {
  const [row] = await service.database.query<{ at: Date }>(
    'select last_used_at as at from sessions where user_id = $1',
    [user.id],
  )
  return row?.at.getTime()
}

describe('a session that is not used', () => {
  it('ends after a day', async () => {
    const web = await signInAs(service, user)
    await advance(24 * HOUR - MINUTE)
    expect(await isSignedIn(web)).toBe(true)
    await advance(24 * HOUR + MINUTE)
    expect(await isSignedIn(web)).toBe(false)
  })

  it('lasts while it is used, but not beyond its lifetime', async () => {
    const web = await signInAs(service, user)
    const seen: boolean[] = []
    for (let half = 0; half < 15; half += 1) {
      await advance(12 * HOUR)
      seen.push(await isSignedIn(web))
    }
    expect(seen).toEqual([...Array(13).fill(true), false, false])
  })

  it('ends after half an hour at the operators’ account', async () => {
    const operator = await makeUser(service.context.db, operators.slug)
    const web = await signInAs(service, operator, { account: operators })
    await advance(25 * MINUTE)
    expect((await web.send('GET', '/operator')).status).toBe(200)
    await advance(25 * MINUTE)
    expect((await web.send('GET', '/operator')).status).toBe(200)
    await advance(30 * MINUTE)
    expect((await web.send('GET', '/operator')).location).toMatch(/^\/sign-in/)
  })

  it('is noted as used every five minutes, not with every request', async () => {
    const web = await signInAs(service, user)
    const first = await lastUse()
    await advance(4 * MINUTE)
    await web.send('GET', '/')
    expect(await lastUse()).toBe(first)
    await advance(MINUTE)
    await Promise.all([web.send('GET', '/'), web.send('GET', '/security')])
    expect(await lastUse()).toBeGreaterThan((first ?? 0) + 5 * MINUTE - 1)
  })
})

describe('the sessions of a user', () => {
  it('are bounded: the one that was not used for longest ends', async () => {
    const oldest = await signInAs(service, user)
    await advance(6 * MINUTE)
    for (let made = 1; made < MAX_SESSIONS; made += 1) await signInAs(service, user)
    const [, second] = await sessionsOf(service, user)
    await isSignedIn(oldest)
    const web = service.web()
    await web.signIn(user.email, PASSWORD)
    expect(web.cookies.has(SESSION)).toBe(true)
    const left = await sessionsOf(service, user)
    expect([left.length, await isSignedIn(oldest)]).toEqual([MAX_SESSIONS, true])
    expect(left).not.toContain(second)
  })

  it('are listed with browser, address and last use, and end one by one', async () => {
    const [there, here] = [await signInAs(service, user), await signInAs(service, user)]
    const [other, mine] = await sessionsOf(service, user)
    await service.database.query("update sessions set agent = 'Elsewhere/1.0', address = '192.0.2.7' where id = $1", [
      other,
    ])
    const page = textOf((await here.get('/security')).text)
    for (const shown of ['192.0.2.7', t('security.last_used'), t('security.this_one')]) expect(page).toContain(shown)
    const form = await signedFor(service, user, '/security/sign-out', { session: other ?? '' })
    const answer = await here.send('POST', '/security/sign-out', form)
    expect(answer.location).toBe('/security?notice=session_ended')
    expect(await sessionsOf(service, user)).toEqual([mine])
    expect([await isSignedIn(here), await isSignedIn(there)]).toEqual([true, false])
    expect(await eventKinds(service, { user })).toEqual(['session.ended'])
  })

  it('signing out of the one in use leads to the sign-in', async () => {
    const web = await signInAs(service, user)
    await web.get('/security')
    await web.submit('/security/sign-out')
    expect([web.cookies.has(SESSION), await sessionsOf(service, user)]).toEqual([false, []])
  })

  it('of another user cannot be ended, nor one that does not exist', async () => {
    const web = await signInAs(service, user)
    const victim = await makeUser(service.context.db, service.account.slug)
    await signInAs(service, victim)
    const [theirs = ''] = await sessionsOf(service, victim)
    for (const session of [theirs, randomUUID(), 'none', '']) {
      const form = await signedFor(service, user, '/security/sign-out', { session })
      expect((await web.send('POST', '/security/sign-out', form)).status).toBe(404)
    }
    expect(await sessionsOf(service, victim)).toEqual([theirs])
  })
})
