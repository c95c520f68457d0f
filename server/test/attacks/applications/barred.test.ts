/** UC-16 to UC-18, UC-20: which applications may ask, by the policy of an account, of operators and of the scope catalogue, and under which name. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { callManagement, closeContext, createContext } from '../../../src/app.ts'
import { createProgram } from '../../../src/cli/program.ts'
import type { AccountPolicy } from '../../../src/core/accounts/policy.ts'
import { savePolicy } from '../../../src/flows/accounts/policy.ts'
import { setApplicationPublisher } from '../../../src/flows/applications/manage.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { makeRegistration } from '../../rig/application-settings.ts'
import { hostileNames } from '../../rig/corpora/hostile-names.ts'
import { createApplication, createScope } from '../../rig/create.ts'
import { post } from '../../rig/device.ts'
import { statementsOf } from '../../rig/engines/statements.ts'
import { type MadeApplication, makeAccount, makeApplication, makeEnvironment, makeUser } from '../../rig/make.ts'
import { tagsOf } from '../../rig/pages/tags.ts'
import { ask } from '../../rig/scenes/asked.ts'
import { madeUp } from '../../rig/scenes/guesses.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, type SignedInUser, signInAs } from '../../rig/signed-in.ts'
import { formFields, textOf } from '../../rig/web.ts'
import { codeRow, countRows, entriesOf, grantsOf, UNTOUCHED } from '../../rig/witness.ts'

const { t } = wordsFor('en')
const NOT_RECOGNISED = t('enter_code.problem_not_recognised')

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const EVERYTHING: AccountPolicy = {
  deviceFlow: true,
  secondFactor: 'optional',
  unverifiedPublishers: true,
  onlyApplications: null,
}

async function someApplication(given: Parameters<typeof makeApplication>[3] = {}): Promise<MadeApplication> {
  const application = await makeApplication(service.context.db, service.config, service.account.slug, given)
  await service.context.applications.refresh()
  return application
}

describe('the policy of an account', () => {
  type Ruled = SignedInUser & { readonly rule: (policy: Partial<AccountPolicy>) => Promise<void> }

  async function ruledAccount(): Promise<Ruled> {
    const account = await makeAccount(service.context.db)
    const administrator = await makeUser(service.context.db, account.slug)
    const visitor = await makeSignedInUser(service, { account })
    const rule = async (policy: Partial<AccountPolicy>) => {
      const saved = await savePolicy(service.context, administrator.id, { ...EVERYTHING, ...policy })
      expect(saved.outcome).toBe('saved')
    }
    return { ...visitor, rule }
  }

  it('UC-16: with codes disabled, right, wrong and mistyped codes get the same answer without a look-up', async () => {
    const { user, web, rule } = await ruledAccount()
    const form = formFields((await web.get('/connect/code')).text, '/connect/code')
    await rule({ deviceFlow: false })
    const { user_code } = await service.device().code()
    const answers = new Set<string>()
    for (const code of [user_code, madeUp(), '1', '']) {
      const { result, statements } = await statementsOf(() => web.send('POST', '/connect/code', { ...form, code }))
      expect(statements.filter((text) => /device_codes|code_entries/.test(text))).toEqual([])
      answers.add(`${result.status} ${textOf(result.text)}`)
    }
    expect([...answers]).toEqual([expect.stringContaining(t('enter_code.off'))])
    expect([...answers][0]).toMatch(/^403 /)
    expect((await web.get('/connect/code')).text, 'there is no field to fill in').not.toContain('name="code"')
    expect(await entriesOf(service, user)).toEqual([])
    expect(await codeRow(service, user_code)).toMatchObject(UNTOUCHED)
  })

  it('DC-14, UC-16: an application that is not on the account’s list is not recognised, and its code stays open elsewhere', async () => {
    const { user, web, rule } = await ruledAccount()
    const [listed, other] = [await someApplication({ name: 'On The List' }), await someApplication()]
    await rule({ onlyApplications: [listed.id] })
    expect(textOf((await web.get('/connect/code')).text)).toContain(
      t('enter_code.only', { applications: 'On The List' }),
    )
    const barred = await service.device('oauth', other).code()
    const page = await web.enterCode(barred.user_code)
    expect([page.status, textOf(page.text)]).toEqual([400, expect.stringContaining(NOT_RECOGNISED)])
    expect(await codeRow(service, barred.user_code)).toMatchObject(UNTOUCHED)

    const open = await service.device('oauth', listed).code()
    expect((await web.enterCode(open.user_code)).status).toBe(200)
    expect(await entriesOf(service, user)).toEqual(['known', 'claimed'])
  })

  it('UC-16: an account that requires verified publishers refuses all others', async () => {
    const { user, web, rule } = await ruledAccount()
    await rule({ unverifiedPublishers: false })
    const application = await someApplication()
    const device = service.device('oauth', application)
    const first = await device.code()
    expect(textOf((await web.enterCode(first.user_code)).text)).toContain(NOT_RECOGNISED)
    await setApplicationPublisher(service.context.db, application.id, { status: 'verified', name: 'till.example' })
    expect(textOf((await web.enterCode(first.user_code)).text)).toContain(
      t('publisher.verified', { name: 'till.example' }),
    )
    expect(await codeRow(service, first.user_code)).toMatchObject({ claimed_by: user.id })
  })

  it.each([
    ['switches codes off', { deviceFlow: false }],
    ['takes the application off its list', { onlyApplications: [] }],
    ['asks for verified publishers', { unverifiedPublishers: false }],
  ])('UC-16: an account that %s between the question and the answer gets no grant', async (_what, policy) => {
    const { rule, ...visitor } = await ruledAccount()
    const { user, web, code, form } = await ask(service, visitor)
    await rule(policy)
    const answer = await web.send('POST', '/connect/decision', { ...form, decision: 'allow' })
    expect(await grantsOf(service, user)).toEqual([])
    expect(await codeRow(service, code.user_code)).toMatchObject({ ...UNTOUCHED, claimed_by: user.id })
    const page = answer.location === null ? answer : await web.get(answer.location)
    expect(textOf(page.text), 'and the user is not asked the same question again').not.toContain(t('consent.allow'))
  })
})

describe('registration by an operator', () => {
  /** Runs the command as an operator types it, and parses its output. */
  async function latchkey(...args: string[]) {
    const printed: string[] = []
    const console = vi.spyOn(globalThis.console, 'log').mockImplementation((line) => void printed.push(line))
    for (const [name, value] of Object.entries(makeEnvironment({ DATABASE_URL: service.database.url }))) {
      vi.stubEnv(name, value)
    }
    try {
      const program = await createProgram({ serve: async () => undefined, createContext, closeContext, callManagement })
      await program.parseAsync(['node', 'latchkey', ...args, '--json'])
    } finally {
      vi.unstubAllEnvs()
      console.mockRestore()
    }
    return JSON.parse(printed.join(''))
  }

  it('UC-17: a new application has no device flow unless requested', async () => {
    const about = ['--account', service.account.slug, '--scopes', 'orders:read']
    const [without, with_] = [
      await latchkey('app', 'create', ...about, '--name', 'Without'),
      await latchkey('app', 'create', ...about, '--name', 'With', '--device-flow'),
    ]
    await service.context.applications.refresh()
    const before = await countRows(service, 'device_codes')
    for (const variant of ['oauth', 'key'] as const) {
      const refused = await service.device(variant, without).request()
      expect([refused.status, refused.body.error]).toEqual([403, 'device_flow_disabled'])
    }
    expect(await countRows(service, 'device_codes')).toEqual(before)
    const rows = await service.database.query('select device_flow from applications where id = any($1) order by name', [
      [without.id, with_.id],
    ])
    expect(rows).toEqual([{ device_flow: true }, { device_flow: false }])
    expect((await service.device('oauth', with_).request()).status).toBe(200)
  })
})

describe('a scope without the device flow', () => {
  const SCOPES = ['orders:read', 'money:move']

  it('UC-18: cannot be requested with a code', async () => {
    await createScope(service.context.db, { name: 'money:move', title: 'Move money', deviceFlow: false })
    const application = await someApplication({ allowedScopes: SCOPES, defaultScopes: ['orders:read'] })
    const device = service.device('oauth', application)
    const before = await countRows(service, 'device_codes')
    for (const scope of ['money:move', 'orders:read,money:move', 'money:move orders:read']) {
      const refused = await device.request({ scope })
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_scope'])
    }
    expect(await countRows(service, 'device_codes')).toEqual(before)
  })

  it('UC-18: is neither shown nor granted if it was excluded after the request', async () => {
    await createScope(service.context.db, { name: 'money:count', title: 'Count money' })
    const scopes = ['orders:read', 'money:count']
    const application = await someApplication({ allowedScopes: scopes, defaultScopes: scopes })
    const code = await service.device('oauth', application).code()
    await service.database.query("update scopes set device_flow = false where name = 'money:count'")
    const user = await makeUser(service.context.db, service.account.slug)
    const web = await signInAs(service, user)
    const page = await web.enterCode(code.user_code)
    expect(textOf(page.text)).not.toContain('Count money')
    await web.submit('/connect/decision', { decision: 'allow' })
    expect(await grantsOf(service, user)).toMatchObject([{ scopes: ['orders:read'] }])
  })
})

describe('the name of an application', () => {
  it.each(hostileNames)('UC-20: is refused if it is or has %s', async (_reason, names) => {
    const before = await countRows(service, 'applications', 'application_secrets')
    for (const name of names) {
      const wish = makeRegistration(service.account.slug, { name })
      const result = await createApplication(service.context.db, service.config.keys, wish)
      expect([name, result.outcome]).toEqual([name, 'refused'])
    }
    expect(await countRows(service, 'applications', 'application_secrets')).toEqual(before)
  })

  it('UC-20: is tested with two hundred hostile names or more', () => {
    expect(hostileNames.flatMap(([, names]) => names).length).toBeGreaterThanOrEqual(200)
  })

  it.each([
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '</title><h1>Made by us</h1>',
    '{name} <b>SVC Support</b> &amp;lt;',
    'SVC Support',
  ])(
    'UC-20: %s is shown as it is written, beside "Publisher not verified", on every page that names it',
    async (name) => {
      const application = await someApplication({ name })
      const { user, web } = await makeSignedInUser(service)
      const { body } = await post(service.address, '/auth/key/device/code', {
        form: { SVCappid: application.id, SVCsecret: application.secret },
        headers: { 'user-agent': `${name} says so` },
      })
      const consent = await web.enterCode(body.user_code)
      const decided = await web.submit('/connect/decision', { decision: 'allow' })
      const list = await web.get('/applications')
      const [grant] = await grantsOf(service, user)
      const removal = await web.get(`/applications/remove?grant=${grant?.id}`)
      const spaced = name.replace(/\s+/g, ' ')
      for (const page of [consent, decided, list, removal]) {
        expect(textOf(page.text)).toContain(spaced)
        expect(tagsOf(page.text)).not.toMatch(/<script(?! type="" src="")|<img|<h1>Made|<b>SVC|\son/)
      }
      for (const page of [consent, list]) {
        expect(textOf(page.text)).toContain(t('publisher.unknown'))
      }
      expect(textOf(consent.text)).toContain(`${spaced} says so`)
    },
  )
})
