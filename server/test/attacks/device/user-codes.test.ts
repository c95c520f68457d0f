/** UC-05 to UC-07, UC-13, UC-14, UC-22: who may decide a code; no other user, tab or session can. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { signDecision, verifyDecision } from '../../../src/secrets/web-texts.ts'
import type { CodeRecord } from '../../rig/device.ts'
import { makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { USERS_FROM } from '../../rig/origins/users-from.ts'
import { ask, someDevice } from '../../rig/scenes/asked.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, makeSignedInUsers, type SignedInUser, signedFor, signInAs } from '../../rig/signed-in.ts'
import { formFields, textOf, type Web } from '../../rig/web.ts'
import { codeRow, eventKinds, grantsOf, sessionsOf, UNTOUCHED } from '../../rig/witness.ts'

const { t } = wordsFor('en')
const CLOSED = t('decided.closed')
const CLOSED_FOR_SAFETY = t('decided.entered_elsewhere')
const NOT_RECOGNISED = t('enter_code.problem_not_recognised')
const CLOSED_CODE = t('enter_code.problem_closed')

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

/** A user of the account that the service was started with. */
const here = () => ({ name: `Account ${service.account.slug}` })
const taken = () => t('enter_code.problem_taken', here())

const allow = (web: Web, form: Record<string, string>) =>
  web.send('POST', '/connect/decision', { ...form, decision: 'allow' })

const stillAsked = async ({ user, code }: { user: { id: string }; code: CodeRecord }) =>
  expect(await codeRow(service, code.user_code)).toMatchObject({ ...UNTOUCHED, claimed_by: user.id })

describe('who decides', () => {
  it('an entered and granted code becomes a grant', async () => {
    const { user, web, code, form } = await ask(service)
    const answer = await allow(web, form)
    expect(answer.status).toBe(303)
    const said = textOf((await web.get(answer.location ?? '')).text)
    expect(said).toContain(t('decided.granted'))
    expect(said, 'this service has no mail server').toContain(t('decided.granted_remove'))
    expect(said).not.toContain(t('decided.granted_what'))
    expect(await grantsOf(service, user)).toMatchObject([{ scopes: ['orders:read'], revocation_reason: null }])
    expect(await codeRow(service, code.user_code)).toMatchObject({ status: 'accepted', claimed_by: user.id })
  })

  it.each(['allow', 'cancel', 'not_me'])(
    'UC-05: %s with the form of somebody else’s code answers 403, and the code still waits for who entered it',
    async (decision) => {
      const victim = await ask(service)
      const attacker = await ask(service)
      const { token: _token, ...shown } = victim.form
      for (const token of [victim.form.token, attacker.form.token, '', undefined]) {
        const answer = await attacker.web.send('POST', '/connect/decision', {
          ...shown,
          ...(token === undefined ? {} : { token }),
          decision,
        })
        expect([answer.status, textOf(answer.text)]).toEqual([403, expect.stringContaining(t('refusal.stale'))])
      }
      for (const { user } of [victim, attacker]) expect(await grantsOf(service, user)).toEqual([])
      await stillAsked(victim)
      await stillAsked(attacker)
    },
  )

  it('UC-05: a form signed for another user’s code is refused by its reference', async () => {
    const victim = await ask(service)
    const attacker = await makeSignedInUser(service)
    const page = await attacker.web.send('GET', victim.path)
    expect([page.status, textOf(page.text)]).toEqual([403, expect.stringContaining(CLOSED)])
    expect(page.text).not.toContain('name="ref"')

    const { ref = '', shown = '' } = victim.form
    const form = await signedFor(service, attacker.user, '/connect/decision', { ref, shown })
    for (const decision of ['allow', 'cancel', 'not_me']) {
      const answer = await attacker.web.send('POST', '/connect/decision', { ...form, decision })
      expect([answer.status, textOf(answer.text)]).toEqual([403, expect.stringContaining(CLOSED)])
    }
    expect(await grantsOf(service, attacker.user)).toEqual([])
    await stillAsked(victim)
  })

  it('UC-05: a reference signed for another user’s code is refused by the claim', async () => {
    const victim = await ask(service)
    const attacker = await makeSignedInUser(service)
    const place = verifyDecision(service.config.keys, victim.form.ref ?? '', victim.user.id)
    const ref = signDecision(service.config.keys, place as NonNullable<typeof place>, attacker.user.id)
    const form = await signedFor(service, attacker.user, '/connect/decision', { ref, shown: 'orders:read' })
    for (const decision of ['allow', 'cancel', 'not_me']) {
      const answer = await attacker.web.send('POST', '/connect/decision', { ...form, decision })
      expect(answer.status).toBe(303)
      expect(textOf((await attacker.web.get(answer.location ?? '')).text)).toContain(CLOSED)
    }
    const switching = await signedFor(service, attacker.user, '/connect/switch', { ref })
    await attacker.web.send('POST', '/connect/switch', switching)
    expect(await grantsOf(service, attacker.user)).toEqual([])
    await stillAsked(victim)
  })

  it('UC-22: a consent page shown to one user cannot be decided by the next user of the same browser', async () => {
    const first = await ask(service)
    const next = await makeUser(service.context.db, service.account.slug)
    await first.web.get('/security')
    await first.web.submit('/sign-out')
    expect(await sessionsOf(service, first.user)).toEqual([])
    const { cookies } = await signInAs(service, next)
    for (const [name, value] of cookies) first.web.cookies.set(name, value)
    for (const decision of ['allow', 'cancel', 'not_me']) {
      expect((await first.web.send('POST', '/connect/decision', { ...first.form, decision })).status).toBe(403)
    }
    expect((await first.web.send('POST', '/connect/switch', first.form)).status).toBe(403)
    expect((await first.web.send('GET', first.path)).status).toBe(403)
    expect(await grantsOf(service, next)).toEqual([])
    await stillAsked(first)
  })

  it('UC-22: a page from before signing out is stale for the same user, too, and can be opened again', async () => {
    const first = await ask(service)
    const again = await signInAs(service, first.user)
    expect((await allow(again, first.form)).status).toBe(403)
    expect(await grantsOf(service, first.user)).toEqual([])
    const page = await again.get(first.path)
    expect((await allow(again, formFields(page.text, '/connect/decision'))).status).toBe(303)
    expect(await grantsOf(service, first.user)).toHaveLength(1)
  })

  it('UC-07: of two consent pages in two tabs, each decides its own code', async () => {
    const { db } = service.context
    const other = await makeApplication(db, service.config, service.account.slug, { name: 'Somebody Else' })
    await service.context.applications.refresh()
    const one = await ask(service)
    const code = await service.device('key', other).code()
    const tab = await one.web.enterCode(code.user_code)
    expect(textOf(tab.text)).toContain('Somebody Else')

    expect((await allow(one.web, one.form)).status).toBe(303)
    expect(await grantsOf(service, one.user)).toMatchObject([{ application_id: one.device.application.id }])
    expect(await codeRow(service, code.user_code)).toMatchObject({ ...UNTOUCHED, claimed_by: one.user.id })
  })

  it('UC-07: neither code nor scopes of a form can be replaced', async () => {
    const [one, two] = [await ask(service), await ask(service)]
    const forms = [
      { ...one.form, ref: two.form.ref ?? '' },
      { ...one.form, shown: 'orders:read,orders:write' },
      { ...one.form, shown: '' },
    ]
    for (const form of forms) expect((await allow(one.web, form)).status).toBe(403)
    expect(await grantsOf(service, one.user)).toEqual([])
    await stillAsked(one)
    await stillAsked(two)
  })

  it.each([
    ['lost', ['orders:read', 'orders:write'], "delete from role_scopes where role_id = $1 and scope = 'orders:write'"],
    ['gained', ['orders:read'], "insert into role_scopes values ($1, 'orders:write')"],
  ] as const)(
    'UC-07: a permission that was %s since the page was shown is not allowed unseen',
    async (_how, holds, sql) => {
      const user = await makeUser(service.context.db, service.account.slug, { holds })
      const web = await signInAs(service, user)
      const code = await (await someDevice(service)).code({ scope: 'orders:read,orders:write' })
      const question = await web.enterCode(code.user_code)
      const [role] = await service.database.query('select role_id from user_roles where user_id = $1', [user.id])
      await service.database.query(sql, [role?.role_id])

      const page = await allow(web, formFields(question.text, '/connect/decision'))
      expect([page.status, textOf(page.text)]).toEqual([400, expect.stringContaining(t('consent.problem_changed'))])
      expect(await grantsOf(service, user)).toEqual([])
      await stillAsked({ user, code })
      await allow(web, formFields(page.text, '/connect/decision'))
      expect(await grantsOf(service, user), 'once it was seen').toHaveLength(1)
    },
  )
})

describe('one code, several users', () => {
  const enterAtOnce = async (visitors: readonly SignedInUser[], userCode: string) => {
    await Promise.all(visitors.map(({ web }) => web.get('/connect/code')))
    const answers = await Promise.all(
      visitors.map(({ web }) =>
        web.send('POST', '/connect/code', { ...formFields(web.last?.text ?? '', '/connect/code'), code: userCode }),
      ),
    )
    const claimants = visitors.filter((_, index) => answers[index]?.status === 303)
    expect(claimants, 'exactly one claim ever').toHaveLength(1)
    return {
      answers,
      claimant: claimants[0] as SignedInUser,
      path: answers.find(({ location }) => location)?.location ?? '',
    }
  }

  it('UC-06: of a hundred users of as many accounts who enter one code at once, one claims it, and it is closed for all', async () => {
    const visitors: SignedInUser[] = []
    for (let made = 0; made < 100; made += 1) {
      visitors.push(await makeSignedInUser(service, { account: await makeAccount(service.context.db) }))
    }
    const code = await service.device().code()
    const { answers, claimant, path } = await enterAtOnce(visitors, code.user_code)
    expect(new Set(answers.map(({ status }) => status)).difference(new Set([303, 400, 503])), 'or later').toEqual(
      new Set(),
    )
    const row = await codeRow(service, code.user_code)
    expect(row).toMatchObject({ status: 'pending', claimed_by: claimant.user.id, entry_closed: true, grant_id: null })
    expect(await eventKinds(service, { code: row })).toEqual(['code.claimed', 'code.closed', 'code.entered_elsewhere'])

    expect(textOf((await claimant.web.get(path)).text)).toContain(CLOSED_FOR_SAFETY)
    expect(await grantsOf(service, claimant.user)).toEqual([])
  })

  it('UC-06: of twenty colleagues who enter one code at once, one claims it and decides; the others see that it is taken', async () => {
    const visitors = await makeSignedInUsers(service, 20)
    const device = await someDevice(service)
    const code = await device.code()
    const { answers, claimant, path } = await enterAtOnce(visitors, code.user_code)
    const told = answers.filter(({ status }) => status === 400)
    expect(told.length).toBeGreaterThan(0)
    for (const { text } of told) expect(textOf(text)).toContain(taken())

    const question = await claimant.web.get(path)
    expect(textOf(question.text)).toContain(t('consent.shared'))
    const last_group = code.user_code.slice(-3)
    await claimant.web.send('POST', '/connect/decision', {
      ...formFields(question.text, '/connect/decision'),
      decision: 'allow',
      last_group,
    })
    expect(textOf((await claimant.web.get(path)).text)).toContain(t('decided.granted'))
    for (const { user } of visitors) expect(await grantsOf(service, user)).toHaveLength(user === claimant.user ? 1 : 0)
  })

  it.each([
    ['allow', 'granted'],
    ['cancel', 'rejected'],
    ['not_me', 'reported'],
  ] as const)(
    'UC-06: %s on a page that was open before a colleague entered the code counts, and the answer says that they did',
    async (decision, outcome) => {
      const first = await ask(service)
      const second = await makeSignedInUser(service)
      const page = await second.web.enterCode(first.code.user_code)
      expect([page.status, textOf(page.text)]).toEqual([400, expect.stringContaining(taken())])
      expect(page.text, 'without a name').not.toContain(first.user.email)

      const answer = await first.web.send('POST', '/connect/decision', { ...first.form, decision })
      const said = textOf((answer.location ? await first.web.get(answer.location) : answer).text)
      expect(said).toContain(t(`decided.${outcome}`))
      expect(said).toContain(t(decision === 'allow' ? 'decided.shared_granted' : 'decided.shared_refused'))
      expect(await grantsOf(service, first.user)).toHaveLength(decision === 'allow' ? 1 : 0)
      const row = await codeRow(service, first.code.user_code)
      expect((await eventKinds(service, { code: row })).slice(0, 2)).toEqual(['code.claimed', 'code.also_entered'])
    },
  )

  it('UC-06: a decision without a colleague does not mention one', async () => {
    const { web, form, path } = await ask(service)
    expect(textOf((await web.get(path)).text)).not.toContain(t('consent.shared'))
    const answer = await allow(web, form)
    expect(textOf((await web.get(answer.location ?? '')).text)).not.toContain(t('decided.shared'))
  })

  it.each(['allow', 'cancel', 'not_me'])(
    'UC-13: a code that three people were sent is dead after the second account, and who was first and says %s is told why',
    async (decision) => {
      const first = await ask(service)
      const others = await makeSignedInUsers(service, 2, { account: await makeAccount(service.context.db) })
      // The second of them had no part in it.
      for (const [index, { web }] of others.entries()) {
        const page = await web.enterCode(first.code.user_code)
        const said = index === 0 ? CLOSED_CODE : NOT_RECOGNISED
        expect([page.status, textOf(page.text)]).toEqual([400, expect.stringContaining(said)])
      }
      const answer = await first.web.send('POST', '/connect/decision', { ...first.form, decision })
      const page = textOf((await first.web.get(answer.location ?? '')).text)
      expect(page).toContain(CLOSED_FOR_SAFETY)
      expect(page).toContain(t('decided.entered_elsewhere_what'))

      const row = await codeRow(service, first.code.user_code)
      expect(row).toMatchObject({ status: 'pending', claimed_by: first.user.id, entry_closed: true, grant_id: null })
      const kinds = ['code.claimed', 'code.closed', 'code.entered_elsewhere']
      expect(await eventKinds(service, { code: row })).toEqual(kinds)
      expect((await first.device.poll(first.code.device_code)).body.error).toBe('auth_expired')
      expect(textOf((await first.web.enterCode(first.code.user_code)).text)).toContain(CLOSED_CODE)
      for (const { user } of [first, ...others]) expect(await grantsOf(service, user)).toEqual([])
    },
  )

  it('UC-13: each of the two accounts has the event in its audit log, without the other account', async () => {
    const first = await ask(service)
    const account = await makeAccount(service.context.db)
    const second = await makeSignedInUser(service, { account })
    await second.web.enterCode(first.code.user_code)
    const row = await codeRow(service, first.code.user_code)
    const found = await service.database.query(
      'select kind, account_id, user_id, detail from audit_events where device_code_id = $1 order by id',
      [row?.id],
    )
    const ours = { account_id: service.account.id, user_id: first.user.id, detail: {} }
    expect(found).toEqual([
      { kind: 'code.claimed', ...ours },
      { kind: 'code.closed', account_id: account.id, user_id: second.user.id, detail: {} },
      { kind: 'code.entered_elsewhere', ...ours },
    ])
  })

  it('UC-14: a user of another account who enters the code first gains nothing once its owner enters it', async () => {
    const account = await makeAccount(service.context.db)
    const onlooker = await ask(service, await makeSignedInUser(service, { account }))
    const owner = await makeSignedInUser(service)
    const told = await owner.web.enterCode(onlooker.code.user_code)
    expect(textOf(told.text)).toContain(CLOSED_CODE)
    const answer = await allow(onlooker.web, onlooker.form)
    expect(textOf((await onlooker.web.get(answer.location ?? '')).text)).toContain(CLOSED_FOR_SAFETY)
    expect(await grantsOf(service, onlooker.user)).toEqual([])
    expect(await grantsOf(service, owner.user)).toEqual([])
    expect(await codeRow(service, onlooker.code.user_code)).toMatchObject({ entry_closed: true, grant_id: null })
  })

  it('UC-14: a user of the same account who enters it first grants only their own access; the owner sees that somebody was faster', async () => {
    const onlooker = await ask(service)
    const owner = await makeSignedInUser(service)
    expect(textOf((await owner.web.enterCode(onlooker.code.user_code)).text)).toContain(taken())
    await allow(onlooker.web, onlooker.form)
    expect(await grantsOf(service, onlooker.user)).toHaveLength(1)
    expect(await grantsOf(service, owner.user), 'nothing of the owner’s').toEqual([])
  })

  it('UC-06: "Not you?" releases the code and signs out; another user may then enter and decide it', async () => {
    const first = await ask(service)
    const page = await first.web.submit('/connect/switch')
    const notice = USERS_FROM === 'host' ? t('at_host.title_switched') : t('sign_in.notice_switched')
    expect([first.web.last?.status, textOf(page.text)]).toEqual([200, expect.stringContaining(notice)])
    expect(first.web.cookies.has('__Host-session')).toBe(false)
    expect(await sessionsOf(service, first.user)).toEqual([])
    expect(await codeRow(service, first.code.user_code)).toMatchObject(UNTOUCHED)

    const second = await makeSignedInUser(service)
    await second.web.enterCode(first.code.user_code)
    const decided = await second.web.submit('/connect/decision', { decision: 'allow' })
    expect(textOf(decided.text)).toContain(t('decided.granted'))
    expect(await grantsOf(service, second.user)).toHaveLength(1)
    const row = await codeRow(service, first.code.user_code)
    expect(await eventKinds(service, { code: row })).toEqual([
      'code.claimed',
      'code.released',
      'code.claimed',
      'grant.created',
    ])
  })

  it('UC-06: no user releases a code that another user claimed', async () => {
    const victim = await ask(service)
    const attacker = await ask(service)
    const form = {
      ...formFields((await attacker.web.get(attacker.path)).text, '/connect/switch'),
      ref: victim.form.ref ?? '',
    }
    expect((await attacker.web.send('POST', '/connect/switch', form)).status).toBe(403)
    await stillAsked(victim)
  })
})
