/** WB-13, WB-14: skipped steps and outdated proofs. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLink } from '../../../src/flows/sign-in/mailed-link.ts'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { DIALOG, SESSION, STEP } from '../../../src/http/web/cookies.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { createBrowserMark } from '../../../src/secrets/dialog-texts.ts'
import { markPassword, signDecision, signLink, signSecondStep } from '../../../src/secrets/web-texts.ts'
import { connect } from '../../rig/connect.ts'
import { createScope } from '../../rig/create.ts'
import { type Authenticated, makeAuthenticator } from '../../rig/factors/second-factor.ts'
import { createSoftPasskey } from '../../rig/factors/soft-passkey.ts'
import { type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { needs } from '../../rig/origins/needs.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, signedFor, signInAs } from '../../rig/signed-in.ts'
import { type Page, textOf, unescapeHtml, type Web } from '../../rig/web.ts'
import { codeRow, collected, digestOf, everyRow, grantsOf, sessionsOf, UNTOUCHED } from '../../rig/witness.ts'

const MINUTE = 60_000
const { t } = wordsFor('en')
const PASSWORD = 'a quiet green harbour'

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true, operators: true })
})
afterAll(() => service.stop())

/** Advances PostgreSQL's clock and the process's copy of it. */
async function advance(ms: number): Promise<void> {
  await service.database.advance(ms)
  await service.context.applications.refresh()
}

const boundOf = (route: (typeof pageRoutes)[number]) =>
  Object.fromEntries((route.bound ?? []).map((name) => [name, '']))

describe('routes', () => {
  const locked = pageRoutes.filter(({ access }) => access !== 'anyone')
  const administrative = pageRoutes.filter(({ access }) => access === 'administrator' || access === 'operator')
  const named = (routes: typeof pageRoutes) => routes.map((route) => [`${route.method} ${route.path}`, route] as const)

  it.each(named(locked))(
    'WB-13: %s leads who is not signed in to the sign-in, and does nothing else',
    async (_name, route) => {
      const before = await everyRow(service)
      const answer = await service
        .web()
        .send(route.method, route.path, route.method === 'POST' ? boundOf(route) : undefined)
      expect([answer.status, answer.text, answer.location]).toEqual([
        303,
        '',
        expect.stringMatching(/^\/sign-in\?next=%2F/),
      ])
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it.each(named(administrative))(
    'WB-13: %s is closed to who is no administrator, signed form or not',
    async (_name, route) => {
      const { user, web } = await makeSignedInUser(service)
      const before = await everyRow(service)
      const form = route.method === 'POST' ? await signedFor(service, user, route.path, boundOf(route)) : undefined
      const answer = await web.send(route.method, route.path, form)
      expect([answer.status, textOf(answer.text)]).toEqual([403, expect.stringContaining(t('refusal.forbidden'))])
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it('WB-13: a user who is no longer an administrator is refused at the next request', async () => {
    const user = await makeUser(service.context.db, service.account.slug)
    const web = await signInAs(service, user)
    expect((await web.send('GET', '/account/people')).status).toBe(200)
    await service.database.query('delete from user_roles where user_id = $1', [user.id])
    expect((await web.send('GET', '/account/people')).status).toBe(403)
  })

  it.each(named(pageRoutes.filter(({ fresh }) => fresh)))(
    'WB-14: %s asks once more who it is when the sign-in is more than a quarter of an hour ago',
    async (_name, route) => {
      const user = await makeUser(service.context.db, service.account.slug)
      const web = await signInAs(service, user)
      await advance(16 * MINUTE)
      const before = await everyRow(service)
      const form = route.method === 'POST' ? await signedFor(service, user, route.path, boundOf(route)) : undefined
      const answer = await web.send(route.method, route.path, form)
      expect([answer.status, answer.location]).toEqual([303, expect.stringMatching(/^\/confirm\?next=%2F/)])
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it('WB-14: every route that changes sign-in methods, roles or policy needs a recent sign-in', () => {
    const delicate = /^\/(security\/(password|passkeys|authenticator)|account\/(policy|people|person|role)(\/|$))/
    const stale = pageRoutes.filter(({ method, path, fresh }) => method === 'POST' && delicate.test(path) && !fresh)
    expect(stale.map(({ path }) => path)).toEqual([])
  })

  it.each([
    ['an access key', { variant: 'key', scope: 'orders:read' }],
    ['a dangerous permission', { variant: 'oauth', scope: 'danger:all' }],
  ] as const)('WB-14: %s is allowed with a fresh sign-in only', async (_what, { variant, scope }) => {
    await createScope(service.context.db, { name: 'danger:all', title: 'Do everything', dangerous: true })
    const { context, config, account } = service
    const application = await makeApplication(context.db, config, account.slug, {
      allowedScopes: ['orders:read', 'danger:all'],
    })
    await context.applications.refresh()
    const user = await makeUser(context.db, account.slug, { password: PASSWORD })
    const web = await signInAs(service, user)
    await advance(14 * MINUTE)
    const code = await service.device(variant, application).code({ scope })
    await web.enterCode(code.user_code)
    const form = await signedFor(service, user, '/connect/decision', {
      ref: /name="ref" value="([^"]*)"/.exec(web.last?.text ?? '')?.[1] ?? '',
      shown: scope,
    })
    await advance(2 * MINUTE)
    await web.send('POST', '/connect/decision', { ...form, decision: 'allow' })
    expect(await grantsOf(service, user)).toEqual([])
    expect(await codeRow(service, code.user_code)).toMatchObject({ ...UNTOUCHED, claimed_by: user.id })

    await web.get(`/connect/decision?ref=${form.ref}`)
    await web.submit('/confirm', { password: PASSWORD })
    await web.submit('/connect/decision', { decision: 'allow' })
    expect(await grantsOf(service, user)).toMatchObject([{ scopes: [scope] }])
  })
})

describe('decisions', () => {
  it('WB-13: a code that was not entered cannot be decided, with any reference and signature', async () => {
    const { user, web } = await makeSignedInUser(service)
    const code = await service.device().code()
    const [row] = await service.database.query<{ id: string; expires_at: Date }>(
      'select id, expires_at from device_codes where user_code_digest = $1',
      [digestOf(service, code.user_code)],
    )
    const place = { id: row?.id ?? '', expiresAt: row?.expires_at.getTime() ?? 0 }
    const refs = [signDecision(service.config.keys, place, user.id), code.user_code, code.device_code, place.id, '']
    for (const ref of refs) {
      const form = await signedFor(service, user, '/connect/decision', { ref, shown: 'orders:read' })
      const answer = await web.send('POST', '/connect/decision', { ...form, decision: 'allow' })
      const page = answer.location === null ? answer : await web.get(answer.location)
      expect(textOf(page.text)).toContain(t('decided.closed'))
    }
    expect(await grantsOf(service, user)).toEqual([])
    expect(await codeRow(service, code.user_code)).toMatchObject(UNTOUCHED)
    expect((await service.device().poll(code.device_code)).body.error).toBe('auth_pending')
  })

  it.each(['', 'yes', 'ALLOW', 'allow ', 'true'])('WB-13: %j is not a decision', async (decision) => {
    const { user, web } = await makeSignedInUser(service)
    const code = await service.device().code()
    await web.enterCode(code.user_code)
    expect((await web.submit('/connect/decision', { decision })).status).toBe(400)
    expect(await codeRow(service, code.user_code)).toMatchObject({ ...UNTOUCHED, claimed_by: user.id })
  })
})

describe('the second step', needs('second_factor'), () => {
  const guarded = async (): Promise<MadeUser & Authenticated> => {
    const user = await makeUser(service.context.db, service.account.slug, { password: PASSWORD })
    return { ...user, ...(await makeAuthenticator(service, user)) }
  }
  const firstStep = async (user: MadeUser) => {
    const web = service.web()
    const { location } = await web.send('POST', '/sign-in', { email: user.email, password: PASSWORD, next: '/' })
    return { web, location, step: web.cookies.get(STEP) ?? '' }
  }
  const secondStep = (web: Web, step: string, code: string) => {
    web.cookies.set(STEP, step)
    return web.send('POST', '/sign-in/code', { code, next: '/' })
  }
  const EXPIRED = [400, expect.stringContaining(t('sign_in.problem_expired'))]

  it('WB-13: a password alone creates no session for a user with a second factor', async () => {
    const user = await guarded()
    const { web } = await firstStep(user)
    expect([web.cookies.has(SESSION), await sessionsOf(service, user)]).toEqual([false, []])
    expect((await web.send('GET', '/')).location).toMatch(/^\/sign-in/)
  })

  it('WB-13: the code alone creates none either: the step must be signed for this account and user, and be younger than five minutes', async () => {
    const [user, other] = [await guarded(), await guarded()]
    const { keys } = service.config
    const mark = createBrowserMark()
    const at = await service.database.query<{ now: Date }>('select now()').then(([row]) => row?.now.getTime() ?? 0)
    const [kept] = await service.database.query<{ digest: string }>(
      'select password_digest as digest from users where id = $1',
      [user.id],
    )
    const good = { userId: user.id, at, passwordMark: markPassword(kept?.digest ?? '') }
    const steps = [
      '',
      'made up',
      user.id,
      signSecondStep(keys, good, 'another', mark),
      signSecondStep(keys, good, service.account.slug, createBrowserMark()),
      signSecondStep(keys, { ...good, at: at - 6 * MINUTE }, service.account.slug, mark),
      signSecondStep(keys, { ...good, userId: 'usr_000000000000' }, service.account.slug, mark),
      signSecondStep(keys, { ...good, passwordMark: markPassword('another') }, service.account.slug, mark),
    ]
    const web = service.web()
    web.cookies.set(DIALOG, mark)
    for (const step of steps) {
      const page = await secondStep(web, step, await user.code())
      expect([page.status, textOf(page.text)]).toEqual(EXPIRED)
    }
    const theirs = await firstStep(other)
    const swapped = await secondStep(theirs.web, theirs.step, await user.code())
    expect([swapped.status, textOf(swapped.text)]).toEqual([
      400,
      expect.stringContaining(t('second_step.problem_wrong')),
    ])
    for (const each of [user, other]) expect(await sessionsOf(service, each)).toEqual([])
  })

  it('WB-13: a code is valid once, also when it is sent ten times at once', async () => {
    const user = await guarded()
    const { web, step } = await firstStep(user)
    const code = await user.code()
    const answers = await Promise.all(Array.from({ length: 10 }, () => secondStep(web, step, code)))
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1)
    expect(await sessionsOf(service, user)).toHaveLength(1)
    expect((await secondStep(service.web(), step, code)).status).not.toBe(303)
  })

  it('WB-13: the proof of the first step is a cookie for five minutes, and in no address and no page', async () => {
    const { web, step, location } = await firstStep(await guarded())
    const [cookie] = [web.last?.headers['set-cookie'] ?? []].flat().filter((each) => each.startsWith(`${STEP}=`))
    expect(cookie).toBe(`${STEP}=${step}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=300`)
    expect(location).toBe('/sign-in/code?next=%2F')
    expect((await web.send('GET', location ?? '')).text).not.toContain(step)
  })

  it('WB-13: a copied address, or a copied proof, is worth nothing in another browser', async () => {
    const user = await guarded()
    const { step, location } = await firstStep(user)
    const other = service.web()
    const opened = await other.send('GET', location ?? '')
    expect([opened.status, textOf(opened.text)]).toEqual(EXPIRED)
    const refused = await secondStep(other, '', await user.code())
    expect([refused.status, textOf(refused.text)]).toEqual(EXPIRED)
    const copied = await secondStep(other, step, await user.code())
    expect([copied.status, textOf(copied.text)]).toEqual(EXPIRED)
    expect(await sessionsOf(service, user)).toEqual([])
  })

  it('WB-13: the proof of the first step is spent with the second, also with a new code', async () => {
    const user = await guarded()
    const { web, step } = await firstStep(user)
    expect((await secondStep(web, step, await user.code())).status).toBe(303)
    expect(web.cookies.has(STEP)).toBe(false)
    await advance(MINUTE)
    const again = await secondStep(web, step, await user.code())
    expect([again.status, textOf(again.text)]).toEqual(EXPIRED)
    expect(await sessionsOf(service, user)).toHaveLength(1)
  })

  it('WB-13: an unfinished sign-in ends when the password changes', async () => {
    const user = await guarded()
    const { web, step } = await firstStep(user)
    const owner = await signInAs(service, user)
    await owner.get('/security')
    const [password, again] = ['another green harbour', 'another green harbour']
    await owner.submit('/security/password', { current: PASSWORD, password, again })
    expect(owner.last?.text).toContain(t('security.notice_password'))
    expect((await secondStep(web, step, await user.code())).status).toBe(400)
    expect(await sessionsOf(service, user), 'only the owner’s').toHaveLength(1)
  })

  it('WB-07: ten wrong codes lock the second step for unknown browsers, and the right one is not accepted meanwhile', async () => {
    const user = await guarded()
    const { web, step } = await firstStep(user)
    const right = await user.code()
    const wrong = right === '000000' ? '000001' : '000000'
    for (let time = 0; time < 10; time += 1) expect((await secondStep(web, step, wrong)).status).toBe(400)
    expect((await secondStep(web, step, right)).status).toBe(429)
    expect(await sessionsOf(service, user)).toEqual([])
  })

  it('WB-13: a link from a mail sets the password, and still asks for the second factor', async () => {
    const user = await guarded()
    const { account, context, config } = service
    const id = await context.db.transaction((tx) => createLink(tx, 'recovery', { id: user.id, accountId: account.id }))
    const web = service.web()
    const words = { password: 'another green harbour', again: 'another green harbour' }
    const answer = await web.send('POST', '/link', { link: signLink(config.keys, id, account.slug), ...words })
    expect(answer.location).toMatch(/^\/sign-in\/code\?next=/)
    expect([web.cookies.has(SESSION), await sessionsOf(service, user)]).toEqual([false, []])
  })
})

describe('passkeys', needs('passkey'), () => {
  const optionsOn = (text: string) => JSON.parse(unescapeHtml(/ options="([^"]*)"/.exec(text)?.[1] ?? '{}'))
  const answered = (web: Web, answer: string) => web.send('POST', '/sign-in/passkey', { answer, next: '/' })

  it('WB-13: an assertion of a passkey signs its user in once, at this origin, for a recent challenge of ours', async () => {
    const user = await makeUser(service.context.db, service.account.slug)
    const own = await signInAs(service, user)
    const passkey = createSoftPasskey()
    const page = await own.get('/security')
    const made = passkey.create(optionsOn(page.text), own.origin)
    await own.submit('/security/passkeys', { answer: made, name: 'Mine' })
    expect(await service.database.query('select from passkeys where user_id = $1', [user.id])).toHaveLength(1)
    const before = await sessionsOf(service, user)

    const web = service.web()
    const ask = async () => optionsOn((await web.send('GET', '/sign-in')).text)
    const account = await makeAccount(service.context.db)
    const there = service.web({}, account.slug)
    const theirs = optionsOn((await there.send('GET', '/sign-in')).text)
    const refused: Record<string, () => Promise<Page>> = {
      'a challenge of its own': async () =>
        answered(web, passkey.get({ ...(await ask()), challenge: randomBytes(32).toString('base64url') }, web.origin)),
      'another account’s challenge': async () => answered(web, passkey.get(theirs, web.origin)),
      'a page of another origin': async () => answered(web, passkey.get(await ask(), there.origin)),
      'another relying party': async () =>
        answered(web, passkey.get(await ask(), web.origin, { rpId: 'evil.example' })),
      'nobody in front of it': async () => answered(web, passkey.get(await ask(), web.origin, { userVerified: false })),
      'the route of another account': async () => answered(there, passkey.get(theirs, there.origin)),
      'a passkey that nobody registered': async () => answered(web, createSoftPasskey().get(await ask(), web.origin)),
      'a registration, sent as an answer': () => answered(web, made),
      'a question of half an hour ago': async () => {
        const late = await ask()
        await advance(30 * MINUTE)
        return answered(web, passkey.get(late, web.origin))
      },
    }
    for (const [what, send] of Object.entries(refused)) expect([what, (await send()).status]).toEqual([what, 400])
    expect(await sessionsOf(service, user)).toEqual(before)

    const answer = passkey.get(await ask(), web.origin)
    const answers = await Promise.all(Array.from({ length: 5 }, () => answered(service.web(), answer)))
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400, 400, 400])
    expect(await sessionsOf(service, user)).toHaveLength(before.length + 1)
  })
})

describe('links', needs('recovery'), () => {
  it('WB-13: a link is valid once, for its purpose, until it expires', async () => {
    const { context, config, account } = service
    const user = await makeUser(context.db, account.slug, { password: PASSWORD })
    const { grantId, userCode } = await connect(service, { user, scope: 'orders:read' })
    await collected(service, userCode)
    const about = { id: user.id, accountId: account.id }
    const make = async (kind: Parameters<typeof createLink>[1], grant: string | null = null) =>
      signLink(config.keys, await context.db.transaction((tx) => createLink(tx, kind, about, grant)), account.slug)
    const late = await make('recovery')
    await advance(10 * MINUTE + 1)
    const [setting, removing] = [await make('recovery'), await make('remove_grant', grantId)]
    const web = service.web()
    const words = { password: 'another green harbour', again: 'another green harbour' }

    const before = await everyRow(service)
    for (const link of [late, removing, '', 'made up', setting.slice(0, -1)]) {
      expect((await web.send('POST', '/link', { link, ...words })).status).toBe(404)
    }
    for (const link of [setting, '', 'made up']) {
      expect((await web.send('POST', '/link/remove', { link })).status).toBe(404)
    }
    for (const link of [setting, removing]) await web.send('GET', `/link?token=${link}`)
    expect(await everyRow(service), 'nothing changed yet').toEqual(before)

    const answers = await Promise.all(
      [1, 2, 3].map(() => service.web().send('POST', '/link', { link: setting, ...words })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 404, 404])
    const events = await service.database.query(
      `select from audit_events where user_id = $1 and kind = 'user.password_set'`,
      [user.id],
    )
    expect([events.length, (await sessionsOf(service, user)).length]).toEqual([1, 1])
  })
})
