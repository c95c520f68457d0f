/** The developer console: the account's own applications, their secrets, previews and samples. */
import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { redirectProblem } from '../../src/core/dialog/redirect-uri.ts'
import { ownApplicationPage } from '../../src/pages/applications/application.tsx'
import { developerListPage } from '../../src/pages/applications/list.tsx'
import { applicationSettingsPage } from '../../src/pages/applications/settings.tsx'
import { samplesFor } from '../../src/pages/ui/samples.tsx'
import { secretShownPage } from '../../src/pages/ui/secret-shown.tsx'
import { makeFrame } from './make.ts'
import {
  everyDeveloperPage,
  fieldsOf,
  formsOf,
  ID,
  makeOwnApplication,
  makeSecretShown,
  makeSettingsModel,
  REDIRECT,
  SECRET,
} from './make-developer.ts'

const BY_NAME = { search: '', sort: 'name', descending: false, after: null } as const

const frame = makeFrame()

describe('the secret', () => {
  test.each([true, false])('is on the page once, in no attribute and in no form (registered: %s)', (registered) => {
    const html = secretShownPage(frame, makeSecretShown({ registered }))
    expect(html.split(SECRET)).toHaveLength(2)
    expect(html).toContain(`id="application-secret">${SECRET}</bdi>`)
    expect(html.match(/<form\b.*?<\/form>/gs)?.join('')).not.toContain(SECRET)
    expect(html).toMatch(/<copy-button(?=[^>]* hidden)[^>]* from="application-secret"/)
  })

  test('"I have stored it" leads to the application, and is the only link to continue', () => {
    const html = secretShownPage(frame, makeSecretShown())
    expect(html).toContain(
      `<a class="button" href="/developer/application?application=${ID}">I have saved the secret</a>`,
    )
  })

  test('its page has no language menu, which would lose it; every other page has one', () => {
    for (const [name, html] of Object.entries(everyDeveloperPage(frame))) {
      expect([name, html.includes('action="/language"')]).toEqual([name, !/^(secret|testSecret)/.test(name)])
    }
  })

  test('a public application has none, and the page says why', () => {
    const html = secretShownPage(frame, makeSecretShown({ secret: null }))
    expect(html).toContain('This application has no secret')
    expect(html).not.toMatch(/application-secret|I have saved the secret|\$SECRET to/)
  })
})

describe('one application', () => {
  const show = (given: Parameters<typeof makeOwnApplication>[0] = {}) =>
    ownApplicationPage(frame, makeOwnApplication(given))
  const REVOKE = '/developer/application/secret/revoke'
  const ADD = '/developer/application/secret'

  test('a suspension is shown first', () => {
    const html = show({ suspended: true, notice: 'saved' })
    const [main = ''] = /<main.*<\/main>/s.exec(html) ?? []
    expect(main).toMatch(/^<main[^>]*><div class="notice warning"><p><strong>This application is suspended</)
    expect(show()).not.toContain('suspended')
  })

  test('every secret has its label, its age and its last use', () => {
    const [, first = '', second = ''] = show().split('<ul class="rows">')[1]?.split('<li>') ?? []
    expect(first).toMatch(/Server in Hamburg.*15 November 2026.*Not used yet/)
    expect(second).toMatch(/Unnamed.*14 November 2026.*15 November 2026/)
  })

  test('revoking a secret needs a confirmation, and is bound to the application and that secret', () => {
    const html = show()
    const asked = Array.from(html.matchAll(/<details class="are-you-sure">.*?<\/details>/gs), ([found]) => found)
    expect(formsOf(asked.join(''), REVOKE)).toHaveLength(2)
    expect(formsOf(html, REVOKE)).toHaveLength(2)
    expect(html).toContain(
      `value="signed ${REVOKE} {&quot;application&quot;:&quot;${ID}&quot;,&quot;secret&quot;:&quot;sec_old&quot;}"`,
    )
  })

  test('the only secret cannot be revoked, and the page says why', () => {
    const html = show({ secrets: makeOwnApplication().secrets.slice(0, 1) })
    expect(formsOf(html, REVOKE)).toEqual([])
    expect(html).toContain('This is the only secret. Add another before you revoke it.')
  })

  test('secrets can be added up to the maximum; then the button is disabled and says why', () => {
    expect(fieldsOf(formsOf(show(), ADD).join(''))).toEqual(['application', 'token', 'label'])
    const full = show({ maxSecrets: 2 })
    expect(formsOf(full, ADD)).toEqual([])
    expect(full).toContain('<button type="button" class="button quiet" disabled aria-describedby="add-reason">')
    expect(full).toContain('<p id="add-reason">The limit of 2 secrets is reached.')
  })

  test('a public application has no secrets, and the page says why', () => {
    const html = show({ public: true, secrets: [] })
    expect([...formsOf(html, ADD), ...formsOf(html, REVOKE)]).toEqual([])
    expect(html).toContain('This application has no secret, because it runs on users’ devices.')
  })

  test('test mode can be switched on where there are codes; while it is on, the page says until when, and how to end it', () => {
    const [start, end] = ['/developer/application/test-mode', '/developer/application/test-mode/end']
    expect([formsOf(show(), start).length, formsOf(show(), end).length]).toEqual([1, 0])
    expect(formsOf(show({ deviceFlow: false }), start)).toEqual([])
    const on = show({ deviceFlow: false, testEndsAt: Date.UTC(2026, 10, 16, 14, 32) })
    expect([formsOf(on, start).length, formsOf(on, end).length]).toEqual([0, 1])
    expect(on).toMatch(/nobody can enter the codes of this application.*Ends.*16 November 2026 at 14:32 UTC/s)
  })

  test.each([
    [{ deviceFlow: true, redirects: [] }, ['code']],
    [{ deviceFlow: false, redirects: [REDIRECT] }, ['dialog']],
    [{ deviceFlow: true, redirects: [REDIRECT] }, ['code', 'dialog']],
    [{ deviceFlow: false, redirects: [] }, []],
  ])('there is a preview for every enabled flow: %j', (given, ways) => {
    const html = show(given)
    expect(Array.from(html.matchAll(/preview\?application=app_k3v9m2x7q4tz&amp;by=(\w+)/g), ([, by]) => by)).toEqual(
      ways,
    )
    expect(html.includes('Return addresses')).toBe(given.redirects.length > 0)
  })

  test.each([
    ['saved', 'Settings saved.'],
    ['revoked', 'Secret revoked.'],
  ] as const)('that it was %s is announced', (notice, text) => {
    expect(show({ notice })).toContain(`<div class="notice success" role="status">${text}</div>`)
  })

  test('the settings are bound to the application, and unticked boxes are not sent', () => {
    const html = applicationSettingsPage(frame, makeSettingsModel({ deviceFlow: false }))
    expect(html).toContain(`value="signed /developer/application/settings {&quot;application&quot;:&quot;${ID}&quot;}"`)
    expect(html).toMatch(/<input(?![^>]*checked)[^>]*name="device_flow"/)
    expect(applicationSettingsPage(frame, makeSettingsModel())).toMatch(/<input(?=[^>]*checked)[^>]*name="device_flow"/)
  })
})

describe('a preview', () => {
  const { previewCode = '', previewDialog = '' } = everyDeveloperPage(frame)

  test.each([
    ['of a code', previewCode, 4],
    ['of the dialog', previewDialog, 3],
  ])('%s looks like the consent page, without a form and without an enabled button', (_, html, buttons) => {
    const [main = ''] = /<main.*<\/main>/s.exec(html) ?? []
    expect(main).toContain('Preview')
    expect(main).toMatch(/>Cancel<.*>Allow access</)
    expect(main).not.toMatch(/<form|<input|name="decision"|type="submit"/)
    expect(main.match(/<button type="button"[^>]* disabled/g)).toHaveLength(buttons)
    expect(main.match(/<button/g)).toHaveLength(buttons)
  })

  test('links back to its application only', () => {
    for (const html of [previewCode, previewDialog]) {
      const [main = ''] = /<main.*<\/main>/s.exec(html) ?? []
      expect(Array.from(main.matchAll(/href="([^"]*)"/g), ([, href]) => href)).toEqual([
        `/developer/application?application=${ID}`,
      ])
    }
  })
})

describe('the list', () => {
  const listed = {
    id: ID,
    name: 'Acme',
    logo: null,
    createdOn: 0,
    suspended: false,
    testMode: false,
    code: true,
    dialog: false,
    public: false,
    grants: 0,
  }
  const show = (given: Partial<typeof listed>) =>
    developerListPage(frame, { wish: BY_NAME, applications: { lines: [{ ...listed, ...given }], after: null } })

  test('shows the flows of each application, and marks public ones', () => {
    expect(show({})).toMatch(/<td>Code<(?!.*Dialog)/)
    expect(show({ code: false, dialog: true, public: true })).toMatch(/<td>Dialog<.*None \(public client\)/)
    expect(show({ code: false })).toContain('Not possible yet: codes are turned off and there is no return address')
    expect(show({})).not.toMatch(/>Secrets<|Suspended/)
    expect(show({ suspended: true })).toContain('Suspended')
  })

  test('is in the navigation of administrators, and marked on every page of the console', () => {
    const nav = (path: string, administrator = true) =>
      developerListPage(makeFrame({ path, user: { email: 'maria@northwind.example', administrator } }), {
        wish: BY_NAME,
        applications: { lines: [], after: null },
      })
    expect(nav('/developer')).toContain('<a href="/developer" aria-current="page">')
    expect(nav(`/developer/application?application=${ID}`)).toContain('<a href="/developer" aria-current="true">')
    expect(nav('/developers')).not.toContain('<a href="/developer"')
    expect(nav('/developer', false)).not.toContain('<a href="/developer"')
  })
})

describe('samples', () => {
  const URL_OF_SERVICE = 'https://service.example'
  const titles = (ways: Parameters<typeof samplesFor>[2]) =>
    samplesFor(URL_OF_SERVICE, ID, ways).map(({ title }) => title)

  test('are those of the application’s flows', () => {
    const code = ['code_oauth', 'code_key', 'poll', 'xml']
    const dialog = ['dialog', 'exchange']
    expect(titles({ code: true, redirect: null, public: false })).toEqual([...code, 'refresh'])
    expect(titles({ code: false, redirect: REDIRECT, public: false })).toEqual([...dialog, 'refresh'])
    expect(titles({ code: true, redirect: REDIRECT, public: false })).toEqual([...code, ...dialog, 'refresh'])
    expect(titles({ code: false, redirect: null, public: false })).toEqual([])
  })

  test('of a public application have no secret, and request codes in the standard dialect', () => {
    const samples = samplesFor(URL_OF_SERVICE, ID, { code: true, redirect: REDIRECT, public: true })
    expect(samples.map(({ title }) => title)).toEqual(['code_oauth', 'poll', 'dialog', 'exchange', 'refresh'])
    expect(samples.map(({ text }) => text).join()).not.toContain('SECRET')
    expect(samples[0]?.text).toContain(`${URL_OF_SERVICE}/oauth/device_authorization`)
  })

  test('are correctly quoted for a shell, whatever is in the address', () => {
    const redirect = "https://app.example/it's/$HOME/(back);x?a=1&b=!"
    expect(redirectProblem(redirect)).toBeNull()
    const samples = samplesFor(URL_OF_SERVICE, ID, { code: true, redirect, public: false })
    const env = { SECRET: 's', CODE: 'c', CODE_VERIFIER: 'v', DEVICE_CODE: 'd', REFRESH_TOKEN: 'r', HOME: '/never' }
    const run = (title: string) => {
      const { text = '' } = samples.find((sample) => sample.title === title) ?? {}
      return execFileSync('sh', ['-c', `curl() { printf '%s\\n' "$@"; }\n${text}`], { env })
        .toString()
        .split('\n')
    }
    expect(run('exchange')).toEqual([
      `${URL_OF_SERVICE}/auth/oauth/token`,
      ...['-d', `SVCappid=${ID}`, '-d', 'SVCsecret=s', '-d', 'code=c'],
      ...['--data-urlencode', `redirect_uri=${redirect}`, '-d', 'code_verifier=v', ''],
    ])
    expect(run('poll')).toEqual([
      `${URL_OF_SERVICE}/auth/oauth/device/polling`,
      ...['-d', `SVCappid=${ID}`, '-d', 'SVCsecret=s', '-d', 'device_code=d', ''],
    ])
    expect(run('refresh')).toContain('refresh_token=r')
    expect(run('xml')[0]).toBe(`${URL_OF_SERVICE}/auth/oauth/device/code.xml`)
  })

  test('the dialog’s link has all parameters but those that are new each time', () => {
    const [link] = samplesFor(URL_OF_SERVICE, ID, { code: false, redirect: REDIRECT, public: true })
    const { pathname, searchParams } = new URL(link?.text ?? '')
    expect(pathname).toBe('/1/auth/oauth/authorize')
    expect(Object.fromEntries(searchParams)).toEqual({
      client_id: ID,
      response_type: 'code',
      redirect_uri: REDIRECT,
      state: '$STATE',
      code_challenge: '$CODE_CHALLENGE',
      code_challenge_method: 'S256',
    })
  })
})
