/** AD-06, WB-05, WB-09: a password or a mailbox alone signs in nobody who has a second factor, and no operator at all. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { linkAddress, mailLink } from '../../../src/flows/sign-in/links.ts'
import { createLink } from '../../../src/flows/sign-in/mailed-link.ts'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { addAuthenticatorHere, addPasskeyHere, recoveryCodesOn, usePasskeyHere } from '../../rig/factors/add-factor.ts'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import type { Web } from '../../rig/web.ts'
import { mailsOf, sessionsOf } from '../../rig/witness.ts'

const PASSWORD = 'a quiet green harbour'
const NEW = 'another green harbour'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' }, { clock: true })
  await makeAccount(service.context.db, { slug: 'operators' })
})
afterAll(() => service.stop())

const now = async () => (await service.database.query<{ now: Date }>('select now()'))[0]?.now.getTime() ?? 0

const signInBy = async (user: MadeUser, slug = service.account.slug): Promise<Web> => {
  const web = service.web({}, slug)
  await web.signIn(user.email, PASSWORD)
  return web
}

/** A clerk who has added a passkey, and no authenticator. */
async function makePasskeyUser() {
  const user = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'], password: PASSWORD })
  const web = await signInBy(user)
  await web.get('/security')
  const { passkey, page } = await addPasskeyHere(web)
  await service.database.query('delete from sessions where user_id = $1', [user.id])
  return { user, passkey, codes: recoveryCodesOn(page) }
}

async function linkOf(user: MadeUser, kind: 'recovery' | 'sign_in'): Promise<string> {
  const { context, account } = service
  const recipient = { id: user.id, accountId: account.id }
  const id = await context.db.transaction(async (tx) => {
    if (kind === 'sign_in') return createLink(tx, kind, recipient)
    await mailLink(tx, recipient, 'en', { kind, detail: {} })
    const { rows } = await tx.query<{ id: string }>(
      'select link_id as id from mails where user_id = $1 order by mails.id',
      [user.id],
    )
    return rows.at(-1)?.id ?? ''
  })
  return new URL(linkAddress(context, account.slug, id)).searchParams.get('token') ?? ''
}

describe('a user with a passkey', () => {
  it('WB-05: is not signed in by the password alone', async () => {
    const { user, passkey } = await makePasskeyUser()
    const web = service.web()
    const page = await web.signIn(user.email, PASSWORD)
    expect(page.text).toContain('action="/sign-in/passkey"')
    expect([web.cookies.has(SESSION), await sessionsOf(service, user)]).toEqual([false, []])
    await usePasskeyHere(web, passkey)
    expect(await sessionsOf(service, user)).toHaveLength(1)
  })

  it('WB-09: is not signed in by the mailbox alone', async () => {
    const { user } = await makePasskeyUser()
    const web = service.web()
    await web.get(`/link?token=${await linkOf(user, 'recovery')}`)
    const page = await web.submit('/link', { password: NEW, again: NEW })
    expect(page.text).toContain('action="/sign-in/passkey"')
    expect([web.cookies.has(SESSION), await sessionsOf(service, user)]).toEqual([false, []])
  })

  it('WB-09: is not signed in by the password and the mailbox', async () => {
    const { user } = await makePasskeyUser()
    const web = service.web()
    await web.get(`/link?token=${await linkOf(user, 'sign_in')}`)
    await web.submit('/link/sign-in')
    expect([web.cookies.has(SESSION), await sessionsOf(service, user)]).toEqual([false, []])
  })

  it('WB-05: does not confirm a sensitive action by the password alone', async () => {
    const { user, passkey, codes } = await makePasskeyUser()
    const web = service.web()
    await web.get('/sign-in')
    await usePasskeyHere(web, passkey)
    await service.database.advance(16 * 60_000)
    await service.context.applications.refresh()
    await web.get('/security')
    expect((await web.submit('/confirm', { password: PASSWORD, code: '' })).status).toBe(400)
    expect((await web.submit('/confirm', { password: PASSWORD, code: codes[0] ?? '' })).status).toBe(200)
    expect(web.last?.text).toContain('/security/passkeys/remove')
    expect(await mailsOf(service, user)).toContain('recovery_code_used')
  })
})

describe('a session that was made by the password', () => {
  it('WB-05: ends with the first second factor, also where none is required, until the factor is proved', async () => {
    const user = await makeUser(service.context.db, service.account.slug, { password: PASSWORD })
    const [stolen, web] = [await signInBy(user), await signInBy(user)]
    await web.get('/security')
    const { passkey } = await addPasskeyHere(web)
    expect((await stolen.send('GET', '/connect/code')).location).toMatch(/^\/confirm\?next=/)
    await stolen.get('/confirm?next=%2F')
    await stolen.submit('/confirm', { password: PASSWORD, code: '' })
    expect((await stolen.send('GET', '/')).location, 'the password is not enough').toMatch(/^\/confirm\?next=/)
    await stolen.get('/confirm?next=%2F')
    await usePasskeyHere(stolen, passkey, '/confirm/passkey')
    expect((await stolen.send('GET', '/')).status).toBe(200)
  })
})

describe('recovery codes', () => {
  it('WB-07: are guessed within the budget of authenticator codes', async () => {
    const { user, codes } = await makePasskeyUser()
    const web = service.web()
    await web.signIn(user.email, PASSWORD)
    for (let guess = 0; guess < 10; guess += 1) {
      expect((await web.submit('/sign-in/recovery-code', { code: '00000-00000' })).status).toBe(400)
    }
    expect((await web.submit('/sign-in/recovery-code', { code: codes[0] ?? '' })).status).toBe(429)
    expect((await web.submit('/sign-in/recovery-code', { code: '123456' })).status).toBe(429)
    expect(await sessionsOf(service, user)).toEqual([])
  })

  it('WB-05: work once, also if used twice at the same moment', async () => {
    const { user, codes } = await makePasskeyUser()
    const webs = [service.web(), service.web(), service.web()]
    for (const web of webs) await web.signIn(user.email, PASSWORD)
    await Promise.all(webs.map((web) => web.submit('/sign-in/recovery-code', { code: codes[3] ?? '' })))
    expect(await sessionsOf(service, user)).toHaveLength(1)
  })

  it('WB-05: of one user do not work for another', async () => {
    const [mine, theirs] = [await makePasskeyUser(), await makePasskeyUser()]
    const web = service.web()
    await web.signIn(theirs.user.email, PASSWORD)
    expect((await web.submit('/sign-in/recovery-code', { code: mine.codes[0] ?? '' })).status).toBe(400)
  })
})

describe('an operator without a second factor', () => {
  const makeOperator = () => makeUser(service.context.db, 'operators', { password: PASSWORD })
  const ofOperators = pageRoutes.filter(({ access }) => access === 'operator')
  const open = new Set(
    pageRoutes
      .filter(({ access, beforeSecondFactor }) => access === 'anyone' || beforeSecondFactor)
      .map(({ path }) => path),
  )

  it('AD-06: reaches no page of the console with the password alone', async () => {
    const web = await signInBy(await makeOperator(), 'operators')
    expect(ofOperators.length).toBeGreaterThanOrEqual(14)
    for (const { method, path } of ofOperators) {
      const { status, location } = await web.send(method, path, method === 'POST' ? {} : undefined)
      expect([path, status, location]).toEqual([path, 303, expect.stringMatching(/^\/second-factor\?next=/)])
    }
  })

  it('AD-06: reaches nothing else of the account either, but the enrolment and the way out', async () => {
    const web = await signInBy(await makeOperator(), 'operators')
    for (const { method, path } of pageRoutes.filter(({ path }) => !open.has(path))) {
      const { status, location } = await web.send(method, path, method === 'POST' ? {} : undefined)
      expect([path, status, location]).toEqual([path, 303, expect.stringMatching(/^\/second-factor\?next=/)])
    }
    expect(
      [...open].filter((path) => /decision|dialog|connect|account|developer|operator|applications/.test(path)),
    ).toEqual(['/connect/code/passkey', '/dialog/enter'])
    // Which takes a passkey, and not the session of the password.
    expect((await web.send('POST', '/connect/code/passkey', { code: '123456789', answer: '' })).status).toBe(400)
  })

  it('AD-06: reaches the console after adding one, and then only with it', async () => {
    const operator = await makeOperator()
    const web = await signInBy(operator, 'operators')
    await web.get('/operator')
    await web.get(/href="(\/security\/authenticator\?next=[^"]+)"/.exec(web.last?.text ?? '')?.[1] ?? '')
    const shown = await addAuthenticatorHere(web, await now())
    expect(recoveryCodesOn(shown)).toHaveLength(10)
    expect(shown.text).toContain('href="/operator"')
    expect((await web.send('GET', '/operator')).status).toBe(200)

    const later = service.web({}, 'operators')
    await later.signIn(operator.email, PASSWORD)
    expect((await later.send('GET', '/operator')).location).toContain('/sign-in')
    await later.get('/sign-in')
    await later.submit('/sign-in', { email: operator.email, password: PASSWORD })
    await later.submit('/sign-in/recovery-code', { code: recoveryCodesOn(shown)[0] ?? '' })
    expect((await later.send('GET', '/operator')).status).toBe(200)
  })

  it('AD-06: who has one must prove it also in a session that was made before', async () => {
    const operator = await makeOperator()
    const [old, web] = [await signInBy(operator, 'operators'), await signInBy(operator, 'operators')]
    await web.get('/operator')
    const { passkey } = await addPasskeyHere(web)
    expect((await old.send('GET', '/operator')).location).toMatch(/^\/confirm\?next=/)
    await old.get('/operator')
    await old.submit('/confirm', { password: PASSWORD, code: '' })
    expect((await old.send('GET', '/operator')).status).toBe(303)
    await old.get('/confirm?next=%2Foperator')
    await usePasskeyHere(old, passkey, '/confirm/passkey')
    expect((await old.send('GET', '/operator')).status).toBe(200)
  })

  it('AD-06: a session that was made before cannot add a factor of its own', async () => {
    const operator = await makeOperator()
    const [stolen, web] = [await signInBy(operator, 'operators'), await signInBy(operator, 'operators')]
    await stolen.get('/security/authenticator')
    await web.get('/operator')
    await addPasskeyHere(web)
    const added = await stolen.submit('/security/authenticator', { code: '000000' })
    expect(added.text).toContain('action="/confirm"')
    for (const path of ['/security', '/security/authenticator', '/second-factor']) {
      expect((await stolen.send('GET', path)).location, path).toMatch(/^\/confirm\?next=/)
    }
    await stolen.get('/confirm?next=%2F')
    expect((await stolen.send('POST', '/security/passkeys', { answer: '{}' })).location).toMatch(/^\/confirm\?next=/)
  })

  it('AD-06: may not remove the last one', async () => {
    const operator = await makeOperator()
    const web = await signInBy(operator, 'operators')
    await web.get('/operator')
    await addPasskeyHere(web)
    await web.get('/security')
    const refused = await web.submit('/security/passkeys/remove')
    expect(refused.status).toBe(400)
    const left = await service.database.query('select from passkeys where user_id = $1', [operator.id])
    expect(left).toHaveLength(1)
  })
})
