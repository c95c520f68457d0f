/** A required second factor: the grace week, the enrolment, recovery codes, and what removes it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendPersonLink, setPersonRoles } from '../../../src/flows/accounts/people.ts'
import { savePolicy } from '../../../src/flows/accounts/policy.ts'
import { createSetupLink } from '../../../src/flows/accounts/set-up.ts'
import { readSecondStep, SECOND_STEP_MS, signInWithPassword } from '../../../src/flows/sign-in/sign-in.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { addAuthenticatorHere, addPasskeyHere, recoveryCodesOn } from '../../rig/factors/add-factor.ts'
import { makeAuthenticator } from '../../rig/factors/second-factor.ts'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { textOf, type Web } from '../../rig/web.ts'
import { mailsOf } from '../../rig/witness.ts'

const DAY = 24 * 60 * 60 * 1000
const PASSWORD = 'a quiet green harbour'
const OPEN = { deviceFlow: true, unverifiedPublishers: true, onlyApplications: null } as const
const { t } = wordsFor('en')

let service: TestService
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' }, { clock: true })
  await makeAccount(service.context.db, { slug: 'operators' })
})
afterAll(() => service.stop())

/** Processes read PostgreSQL's time once a second. */
async function advance(ms: number): Promise<void> {
  await service.database.advance(ms)
  await service.context.applications.refresh()
}

const now = async () => (await service.database.query<{ now: Date }>('select now()'))[0]?.now.getTime() ?? 0
const makeClerk = (slug: string) => makeUser(service.context.db, slug, { holds: [], password: PASSWORD })
const makeAdministrator = (slug = service.account.slug) => makeUser(service.context.db, slug, { password: PASSWORD })

async function signInBy(user: MadeUser, slug = service.account.slug): Promise<Web> {
  const web = service.web({}, slug)
  await web.signIn(user.email, PASSWORD)
  return web
}

const REMINDER = 'You will need a second factor'
const kindsOf = async (user: MadeUser) =>
  (
    await service.database.query<{ kind: string }>('select kind from audit_events where user_id = $1 order by id', [
      user.id,
    ])
  ).map(({ kind }) => kind)
const codesLeft = async (user: MadeUser) =>
  (await service.database.query('select from recovery_codes where user_id = $1', [user.id])).length

describe('the second step of a sign-in', () => {
  it('is open for five minutes by PostgreSQL’s clock, whatever time the process believes it is', async () => {
    const user = await makeClerk(service.account.slug)
    await makeAuthenticator(service, user)
    const account = {
      ...service.account,
      name: 'Acme',
      colour: null,
      logoVersion: null,
      provider: 'off' as const,
      issuer: null,
    }
    const browser = { address: null, agent: null, known: null, mark: 'mark', language: 'en' }
    for (const clock of [0, 1e15]) {
      const applications = { ...service.context.applications, now: () => clock }
      const context = { ...service.context, applications }
      const first = await signInWithPassword(context, account, { email: user.email, password: PASSWORD }, browser)
      const step = first.outcome === 'second_step' ? first.step : ''
      expect(await readSecondStep(context, account, step, browser)).toEqual({ authenticator: true, passkey: false })
      await service.database.advance(SECOND_STEP_MS + 1_000)
      expect(await readSecondStep(context, account, step, browser)).toBeNull()
    }
  })
})

describe('an administrator', () => {
  it('reads until when a second factor is needed, and cannot go on without one afterwards', async () => {
    const user = await makeAdministrator()
    const web = await signInBy(user)
    expect(textOf((await web.get('/')).text)).toContain(REMINDER)
    await advance(7 * DAY - 60_000)
    expect((await (await signInBy(user)).send('GET', '/account/people')).status).toBe(200)
    await advance(60_000)
    const late = await signInBy(user)
    expect(late.last?.text).toContain(t('second_factor.title'))
    for (const path of ['/', '/connect/code', '/account/people', '/security']) {
      expect([path, (await late.send('GET', path)).location]).toEqual([
        path,
        `/second-factor?next=${encodeURIComponent(path)}`,
      ])
    }
    const decision = await late.send('POST', '/connect/decision', { decision: 'allow' })
    expect(decision.location).toMatch(/^\/second-factor/)
  })

  it('finishes the sign-in by adding a passkey, and continues where they wanted to go', async () => {
    const user = await makeAdministrator()
    await advance(8 * DAY)
    const web = await signInBy(user)
    await web.get('/account/people')
    const { page } = await addPasskeyHere(web)
    expect([recoveryCodesOn(page).length, page.text.includes('href="/account/people"')]).toEqual([10, true])
    expect((await web.send('GET', '/account/people')).status).toBe(200)
    expect(await mailsOf(service, user)).toContain('sign_in_method_added')
  })

  it('keeps the same week when other roles change', async () => {
    const [user, clerk] = [await makeAdministrator(), await makeClerk(service.account.slug)]
    const rolesOf = ({ id }: MadeUser) =>
      service.database.query<{ id: string; at: Date }>(
        'select role_id as id, granted_at as at from user_roles where user_id = $1 order by granted_at',
        [id],
      )
    const [before] = await rolesOf(user)
    await advance(DAY)
    const wanted = [...(await rolesOf(user)), ...(await rolesOf(clerk))].map(({ id }) => id)
    await setPersonRoles(service.context, service.user.id, user.id, wanted)
    expect(await rolesOf(user)).toEqual([before, expect.anything()])
  })
})

describe('an account that requires a second factor', () => {
  it('gives every user a week from when it was switched on, and new ones from when they joined', async () => {
    const { slug } = await makeAccount(service.context.db)
    const [administrator, clerk] = [await makeAdministrator(slug), await makeClerk(slug)]
    await advance(30 * DAY)
    expect((await (await signInBy(clerk, slug)).get('/')).text).not.toContain(REMINDER)
    await savePolicy(service.context, administrator.id, { ...OPEN, secondFactor: 'required' })
    expect((await (await signInBy(clerk, slug)).get('/')).text).toContain(REMINDER)
    await advance(5 * DAY)
    const late = await makeClerk(slug)
    await savePolicy(service.context, administrator.id, { ...OPEN, deviceFlow: false, secondFactor: 'required' })
    await advance(3 * DAY)
    expect((await (await signInBy(clerk, slug)).get('/')).text).toContain(t('second_factor.title'))
    expect((await (await signInBy(late, slug)).get('/')).text).toContain(REMINDER)
    await savePolicy(service.context, administrator.id, { ...OPEN, secondFactor: 'optional' })
    expect((await (await signInBy(clerk, slug)).get('/')).text).not.toContain(t('second_factor.title'))
  })

  it('is switched on by an administrator on the policy page, and recorded', async () => {
    const account = await makeAccount(service.context.db)
    const web = await signInAs(service, await makeAdministrator(account.slug), { account })
    await web.get('/account/policy')
    await web.submit('/account/policy', { device_flow: 'on', unverified_publishers: 'on', second_factor: 'on' })
    expect(web.last?.text).toMatch(/id="second_factor"[^>]* checked/)
    const [event] = await service.database.query<{ detail: unknown }>(
      "select detail from audit_events where account_id = $1 and kind = 'account.policy_changed'",
      [account.id],
    )
    expect(event?.detail).toEqual({ changed: { secondFactor: { from: 'optional', to: 'required' } } })
  })

  it('is the operators’ in any case', async () => {
    const operator = await makeAdministrator('operators')
    await savePolicy(service.context, operator.id, { ...OPEN, secondFactor: 'optional' })
    const [account] = await service.database.query<{ id: string }>("select id from accounts where slug = 'operators'")
    const web = await signInAs(service, operator, { account: { id: account?.id ?? '', slug: 'operators' } })
    const { text } = await web.get('/account/policy')
    expect([text.includes(t('policy.second_factor_always')), text.includes('id="second_factor"')]).toEqual([
      true,
      false,
    ])
    const clerk = await makeClerk('operators')
    expect((await (await signInBy(clerk, 'operators')).get('/')).text).toContain(REMINDER)
    await advance(7 * DAY)
    expect((await (await signInBy(clerk, 'operators')).get('/')).text).toContain(t('second_factor.title'))
  })
})

describe('recovery codes', () => {
  async function enrolled() {
    const user = await makeClerk(service.account.slug)
    const web = await signInBy(user)
    await web.get('/security/authenticator')
    const codes = recoveryCodesOn(await addAuthenticatorHere(web, await now()))
    return { user, web, codes }
  }

  it('are ten, shown once with the first second factor, and kept as digests only', async () => {
    const { user, web, codes } = await enrolled()
    expect(new Set(codes).size).toBe(10)
    await web.get('/security')
    expect(textOf(web.last?.text ?? '')).toContain(t('security.recovery_codes_left', { left: 10 }))
    const { page } = await addPasskeyHere(web)
    expect(recoveryCodesOn(page)).toEqual([])
    const rows = await service.database.query('select * from recovery_codes where user_id = $1', [user.id])
    for (const code of codes) expect(JSON.stringify(rows)).not.toContain(code.replace('-', ''))
  })

  it('sign in once each, with the password; the use is recorded and mailed', async () => {
    const { user, codes } = await enrolled()
    const web = await signInBy(user)
    await web.submit('/sign-in/recovery-code', { code: codes[0]?.toUpperCase() ?? '' })
    await web.get('/security')
    expect(textOf(web.last?.text ?? '')).toContain(t('security.recovery_codes_left', { left: 9 }))
    expect(await kindsOf(user)).toContain('user.recovery_code_used')
    expect(await mailsOf(service, user)).toContain('recovery_code_used')
    const again = await signInBy(user)
    const refused = await again.submit('/sign-in/recovery-code', { code: codes[0] ?? '' })
    expect([refused.status, textOf(refused.text)]).toEqual([
      400,
      expect.stringContaining(t('second_step.problem_recovery')),
    ])
  })

  it('are replaced on request after a recent sign-in; the old ones no longer work', async () => {
    const { user, web, codes } = await enrolled()
    await web.get('/security')
    await advance(16 * 60_000)
    expect((await web.submit('/security/recovery-codes')).text).toContain('action="/confirm"')
    const fresh = await signInAs(service, user)
    await fresh.get('/security')
    const created = recoveryCodesOn(await fresh.submit('/security/recovery-codes'))
    expect([created.length, created.some((code) => codes.includes(code))]).toEqual([10, false])
    expect(await kindsOf(user)).toContain('user.recovery_codes_created')
    expect(await mailsOf(service, user)).toContain('recovery_codes_created')
    const late = await signInBy(user)
    expect((await late.submit('/sign-in/recovery-code', { code: codes[1] ?? '' })).status).toBe(400)
    await late.submit('/sign-in/recovery-code', { code: created[1] ?? '' })
    expect((await late.send('GET', '/security')).status).toBe(200)
  })

  it('end with the last second factor, and so does every session’s claim to have used one', async () => {
    const { user, web } = await enrolled()
    await web.get('/security')
    await web.submit('/security/authenticator/remove')
    expect(await codesLeft(user)).toBe(0)
    const marked = await service.database.query('select from sessions where user_id = $1 and second_factor', [user.id])
    expect(marked).toEqual([])
  })

  it('and all factors are removed by an administrator’s reset and by the command line, which is recorded', async () => {
    const { context, config, account, user: administrator } = service
    const [one, other] = [await enrolled(), await enrolled()]
    await sendPersonLink(context, administrator.id, one.user.id, 'en')
    await createSetupLink(context.db, config, { account: account.slug, email: other.user.email, reset: true })
    for (const { user } of [one, other]) {
      const left = await service.database.query('select from authenticators where user_id = $1', [user.id])
      expect([left.length, await codesLeft(user), (await kindsOf(user)).includes('user.reset')]).toEqual([0, 0, true])
    }
  })
})

describe('removing a second factor', () => {
  it('is refused with the reason while one is required, unless another one is left', async () => {
    const user = await makeAdministrator()
    await advance(8 * DAY)
    const web = await signInBy(user)
    await addPasskeyHere(web)
    await web.get('/security')
    const refused = await web.submit('/security/passkeys/remove')
    expect([refused.status, textOf(refused.text)]).toEqual([
      400,
      expect.stringContaining(t('security.problem_required')),
    ])
    await web.get('/security/authenticator')
    await addAuthenticatorHere(web, await now())
    await web.get('/security')
    expect((await web.submit('/security/passkeys/remove')).status).toBe(200)
    const last = await web.submit('/security/authenticator/remove')
    expect([last.status, textOf(last.text)]).toEqual([400, expect.stringContaining(t('security.problem_required'))])
  })
})
