/**
 * Test mode leaves nothing behind: whoever has an application's secret, which ships in devices, cannot decide its codes, and what was
 * granted in test mode ends with it. docs/history.md#0036.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { disablePerson, sendPersonLink, setPersonRoles } from '../../../src/flows/accounts/people.ts'
import { startTestMode } from '../../../src/flows/applications/test-mode.ts'
import { decideTestCode } from '../../../src/flows/device/decide-test-code.ts'
import { setPasswordByLink } from '../../../src/flows/sign-in/links.ts'
import { createLink } from '../../../src/flows/sign-in/mailed-link.ts'
import { sweep } from '../../../src/flows/sweep.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { createGrantId, createGrantSecret } from '../../../src/secrets/random.ts'
import { signLink } from '../../../src/secrets/web-texts.ts'
import { listRoles } from '../../../src/store/accounts/roles.ts'
import { findApplication } from '../../../src/store/applications/applications.ts'
import { shareTestMode } from '../../../src/store/applications/test-modes.ts'
import { insertGrant } from '../../../src/store/grants/grants.ts'
import { findAccountSession } from '../../../src/store/sign-in/sessions.ts'
import { askMe, connect } from '../../rig/connect.ts'
import { createScope } from '../../rig/create.ts'
import { post, type WireVariant } from '../../rig/device.ts'
import { type MadeApplication, type MadeUser, makeApplication, makeUser } from '../../rig/make.ts'
import { type Need, needs } from '../../rig/origins/needs.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor, signInAs } from '../../rig/signed-in.ts'
import { switchTestModeOff, switchTestModeOn } from '../../rig/test-mode.ts'

const { t } = wordsFor('en')
const DAY = 24 * 60 * 60 * 1000
const PASSWORD = 'a quiet green harbour'
const SCOPES = ['orders:read', 'orders:write', 'pay']

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
  await createScope(service.context.db, { name: 'pay', title: 'Pay', dangerous: true })
})
afterAll(() => service.stop())

let application: MadeApplication
let administrator: MadeUser
let testSecret: string
beforeEach(async () => {
  const { context, config, account } = service
  application = await makeApplication(context.db, config, account.slug, { allowedScopes: SCOPES })
  administrator = await makeUser(context.db, account.slug, { password: PASSWORD })
  testSecret = await switchTestModeOn(service, application, administrator)
})

const decide = (userCode: string, given: Record<string, string> = {}) =>
  post(service.address, '/auth/test/decision', {
    form: {
      SVCappid: application.id,
      SVCsecret: application.secret,
      test_secret: testSecret,
      user_code: userCode,
      decision: 'grant',
      ...given,
    },
  })

type Collected = { readonly credential: string; readonly refreshToken: string }

/** What a test holds after a code was granted in test mode. */
async function collect(variant: WireVariant, scope = 'orders:read'): Promise<Collected> {
  const device = service.device(variant, application)
  const code = await device.code({ scope })
  expect((await decide(code.user_code)).status).toBe(200)
  const { body } = await device.poll(code.device_code)
  return { credential: body.access_token ?? body.access_key ?? '', refreshToken: body.refresh_token ?? '' }
}

const works = async ({ credential }: Collected) => (await askMe(service, credential)).status === 200

const grants = () =>
  service.database.query<{ reason: string | null; live: boolean }>(
    `select revocation_reason as reason, revoked_at is null as live from grants
     where application_id = $1 and test_ends_at is not null`,
    [application.id],
  )

const events = (kind: string) =>
  service.database.query<{ actor_kind: string; actor_id: string; via: string; user_id: string; detail: object }>(
    `select actor_kind, actor_id, via, user_id, detail from audit_events where application_id = $1 and kind = $2
     order by id`,
    [application.id, kind],
  )

/** The copies in process, as they are a second later. */
async function hear(): Promise<void> {
  await service.context.applications.refresh()
  await service.context.grantCache.pull()
}

describe('the application’s own secret', () => {
  it('decides no code, whether test mode is on or off, and does not tell which', async () => {
    const { user_code } = await service.device('oauth', application).code()
    const form = { SVCappid: application.id, SVCsecret: application.secret, user_code, decision: 'grant' }
    const without = await post(service.address, '/auth/test/decision', { form })
    expect([without.status, without.body.error]).toEqual([400, 'invalid_request'])
    const on = await decide(user_code, { test_secret: application.secret })
    const guessed = await decide(user_code, { test_secret: `lkt_${'A'.repeat(43)}` })
    await switchTestModeOff(service, application, administrator)
    const off = await decide(user_code, { test_secret: application.secret })
    expect([on.status, on.body]).toEqual([403, expect.objectContaining({ error: 'invalid_test_secret' })])
    expect([guessed.body, off.status, off.body]).toEqual([on.body, on.status, on.body])
    expect(await grants()).toEqual([])
  })

  it('is not the test secret’s equal the other way round either', async () => {
    const asked = await post(service.address, '/auth/oauth/device/code', {
      form: { SVCappid: application.id, SVCsecret: testSecret },
    })
    expect(asked.body.error).toBe('invalid_application')
  })
})

describe('the test secret', () => {
  it('is shown once, when test mode is switched on; the page shows from then on when it ends, and a way to end it', async () => {
    const { id } = await makeApplication(service.context.db, service.config, service.account.slug)
    const web = await signInAs(service, administrator)
    const at = `/developer/application?application=${id}`
    const press = async (path: string) =>
      web.send('POST', path, await signedFor(service, administrator, path, { application: id }))
    expect(await (await web.send('GET', at)).text).toContain(t('test_mode.start'))
    const shown = await press('/developer/application/test-mode')
    expect(shown.text).toMatch(/>lkt_[A-Za-z0-9_-]{43}</)
    const again = await press('/developer/application/test-mode')
    expect([again.status, again.text]).toEqual([
      400,
      expect.stringContaining(t('own_application.problem_test_mode_on')),
    ])
    const [row] = await service.database.query<{ ends_at: Date }>(
      'select ends_at from application_test_modes where application_id = $1',
      [id],
    )
    const page = await web.send('GET', at)
    expect(page.text).toContain(`datetime="${row?.ends_at.toISOString()}"`)
    expect(page.text).toContain(t('test_mode.end'))
    expect([again.text, page.text].filter((text) => text.includes('lkt_'))).toEqual([])
    const off = await press('/developer/application/test-mode/end')
    expect([off.status, off.location]).toEqual([303, `${at}&notice=test_mode_off`])
    expect((await web.send('GET', at)).text).toContain(t('test_mode.start'))
  })

  it('is not stored, only a digest of it', async () => {
    const [row] = await service.database.query<{ digest: Buffer }>(
      'select digest from application_test_modes where application_id = $1',
      [application.id],
    )
    expect(row?.digest.length).toBe(32)
    expect(testSecret).not.toContain(row?.digest.toString('base64url'))
  })

  it('is not valid any more after test mode was switched off, also when it is on again', async () => {
    const { user_code } = await service.device('oauth', application).code()
    await switchTestModeOff(service, application, administrator)
    expect((await decide(user_code)).body.error).toBe('invalid_test_secret')
    const next = await switchTestModeOn(service, application, administrator)
    expect((await decide(user_code)).body.error).toBe('invalid_test_secret')
    expect((await decide(user_code, { test_secret: next })).status).toBe(200)
  })

  it('grants nothing at a process that has not heard yet that test mode was switched off, or off and on', async () => {
    const { user_code } = await service.device('oauth', application).code()
    const { context } = service
    const stale = context.applications.find(application.id)
    await switchTestModeOff(service, application, administrator)
    await switchTestModeOn(service, application, administrator)
    const copy = { ...context.applications, authenticate: () => stale }
    const given = { applicationId: application.id, secret: application.secret, userCode: user_code }
    const result = await decideTestCode({ ...context, applications: copy }, { ...given, testSecret, decision: 'grant' })
    expect(result.outcome).toBe('invalid')
    expect(await grants()).toEqual([])
  })
})

describe.each<WireVariant>(['oauth', 'key'])('what was granted in test mode, in the %s variant,', (variant) => {
  it('is revoked when test mode is switched off', async () => {
    const held = await collect(variant)
    expect(await works(held)).toBe(true)
    await switchTestModeOff(service, application, administrator)
    await hear()
    expect(await works(held)).toBe(false)
    expect(await grants()).toEqual([{ reason: 'test_mode_ended', live: false }])
  })

  it('is over after 24 hours even if no process has noticed, and revoked by the next sweep', async () => {
    const held = await collect(variant)
    const { user_code } = await service.device(variant, application).code()
    await service.database.advance(DAY - 60_000)
    await hear()
    const late = await collect(variant)
    expect(await works(late)).toBe(true)
    await service.database.advance(60_000)
    await hear()
    expect([await works(held), await works(late)]).toEqual([false, false])
    expect((await decide(user_code)).body.error).toBe('invalid_test_secret')
    if (variant === 'oauth') {
      const form = { SVCappid: application.id, SVCsecret: application.secret, refresh_token: late.refreshToken }
      expect((await post(service.address, '/auth/oauth/refresh', { form })).body.error).toBe('invalid_grant')
    } else {
      const form = { SVCappid: application.id, SVCsecret: application.secret, access_key: late.credential }
      expect((await post(service.address, '/auth/key/rotate', { form })).body.error).toBe('invalid_grant')
    }
    expect(await grants(), 'and nobody has revoked it').toEqual([
      { reason: null, live: true },
      { reason: null, live: true },
    ])
    await sweep(service.context.db, service.config)
    expect((await grants()).filter(({ live }) => live)).toEqual([])
    const [ended] = await events('application.test_mode_ended')
    expect(ended).toMatchObject({ actor_kind: 'service', actor_id: 'test-mode', via: 'job' })
    expect((await events('grant.revoked')).at(-1)).toMatchObject({ detail: { reason: 'test_mode_ended' } })
  })

  it('cannot be collected any more once test mode is over', async () => {
    const device = service.device(variant, application)
    const code = await device.code()
    await service.database.advance(DAY - 60_000)
    await hear()
    const late = await device.code()
    expect((await decide(late.user_code)).status).toBe(200)
    await service.database.advance(61_000)
    await hear()
    expect((await device.poll(late.device_code)).body.error).toBe('invalid')
    expect((await device.poll(code.device_code)).body.error).toBe('auth_expired')
    expect(await grants()).toEqual([{ reason: 'test_mode_ended', live: false }])
  })

  it('never holds a dangerous scope', async () => {
    const device = service.device(variant, application)
    const code = await device.code({ scope: 'orders:read,pay' })
    expect((await decide(code.user_code)).body).toEqual({ decision: 'grant', scope: 'orders:read' })
    expect((await device.poll(code.device_code)).body.scope).toBe('orders:read')
    const only = await device.code({ scope: 'pay' })
    expect((await decide(only.user_code)).body.error).toBe('invalid')
  })
})

it('test mode that is switched off while a decision holds it ends after that decision, and revokes it', async () => {
  const { context, account, config } = service
  const waits = () =>
    service.database.query(
      "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    )
  const ending = await context.db.transaction(async (tx) => {
    await shareTestMode(tx, application.id)
    const endsAt = (await findApplication(tx, application.id))?.testMode?.endsAt ?? 0
    const switched = switchTestModeOff(service, application, administrator)
    await expect.poll(waits).toHaveLength(1)
    await insertGrant(tx, {
      ...{ id: createGrantId(), secret: createGrantSecret(), accountId: account.id, userId: administrator.id },
      ...{ applicationId: application.id, variant: 'access_key', scopes: [], keyId: config.keys.signing.id },
      ...{ deviceCodeId: randomUUID(), dialogId: null, requestedFrom: null, testEndsAt: endsAt },
    })
    return { switched }
  })
  await ending.switched
  expect(await grants()).toEqual([{ reason: 'test_mode_ended', live: false }])
})

describe('whoever loses their access loses test mode with it:', () => {
  const password = 'another green harbour'
  const ways: Record<string, () => Promise<unknown>> = {
    'a new password': async () => {
      const web = await signInAs(service, administrator)
      await web.get('/security')
      return web.submit('/security/password', { current: PASSWORD, password, again: password })
    },
    'a recovered password': async () => {
      const { context, config, account } = service
      const about = { id: administrator.id, accountId: account.id }
      const id = await context.db.transaction((tx) => createLink(tx, 'recovery', about))
      const visit = await findAccountSession(context.db, account.slug, { id: randomUUID(), idleMs: 60_000 })
      if (!visit) throw new Error('there is no account')
      const given = { link: signLink(config.keys, id, account.slug), password, again: password }
      const browser = { address: null, agent: null, known: null, mark: '', language: 'en' } as const
      return setPasswordByLink(context, visit.account, given, browser)
    },
    'a reset': () => sendPersonLink(service.context, service.user.id, administrator.id, 'en'),
    'being disabled': () => disablePerson(service.context, service.user.id, administrator.id),
    'not being an administrator any more': async () => {
      await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
      const roles = await listRoles(service.context.db, service.account.id)
      const clerk = roles.find(({ holdsEveryScope }) => !holdsEveryScope)?.id ?? ''
      return setPersonRoles(service.context, service.user.id, administrator.id, [clerk])
    },
  }

  const needed: Record<string, Need> = {
    'a new password': 'password',
    'a recovered password': 'recovery',
    'a reset': 'reset',
    'not being an administrator any more': 'roles',
  }

  describe.for(Object.entries(ways))('%s', ([name, happen]) => {
    it('ends it', needed[name] ? needs(needed[name]) : {}, async () => {
      const held = await collect('key')
      await happen()
      await hear()
      expect(await works(held)).toBe(false)
      const { user_code } = await service.device('oauth', application).code()
      expect((await decide(user_code)).body.error).toBe('invalid_test_secret')
    })
  })
})

describe('the audit log', () => {
  it('names the application as who decided, and the user only as whom it was tested', async () => {
    await collect('oauth')
    const byApplication = { actor_kind: 'application', actor_id: application.id, via: 'api', user_id: administrator.id }
    expect(await events('code.claimed')).toEqual([{ ...byApplication, detail: {} }])
    const detail = { scopes: ['orders:read'], flow: 'device', testMode: true }
    expect(await events('grant.created')).toEqual([{ ...byApplication, detail }])
  })

  it('names who switched test mode on and off', async () => {
    await switchTestModeOff(service, application, service.user)
    const [on] = await events('application.test_mode_started')
    const [off] = await events('application.test_mode_ended')
    expect(on).toMatchObject({ actor_kind: 'user', actor_id: administrator.id, via: 'web' })
    expect(off).toMatchObject({ actor_kind: 'user', actor_id: service.user.id, via: 'web' })
  })
})

it('a grant that an operator entered for the same user while test mode was on is no test, and stays', async () => {
  const person = await connect(service, { application, user: administrator, variant: 'key' })
  await switchTestModeOff(service, application, administrator)
  await hear()
  expect((await askMe(service, person.credential)).status).toBe(200)
})

it('the user finds a test marked among the connected applications, until it is over', async () => {
  await collect('key')
  const web = await signInAs(service, administrator)
  expect((await web.send('GET', '/applications')).text).toContain(t('grant.test_text'))
  await service.database.advance(DAY)
  const later = await signInAs(service, administrator)
  expect((await later.send('GET', '/applications')).text).not.toContain(t('grant.test_text'))
})

it('a second start, after a day that no sweep has noticed, revokes what the first one granted', async () => {
  await collect('key')
  await service.database.advance(DAY)
  const again = await startTestMode(service.context, administrator.id, application.id)
  expect(again.outcome).toBe('started')
  expect(await grants()).toEqual([{ reason: 'test_mode_ended', live: false }])
})
