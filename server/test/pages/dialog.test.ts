/** Pages of the dialog: choosing an account, the consent page, and its errors. */
import { describe, expect, test } from 'vitest'
import { chooseAccountPage } from '../../src/pages/dialog/choose-account.tsx'
import { dialogConsentPage } from '../../src/pages/dialog/consent.tsx'
import { type DialogProblemModel, dialogProblemPage } from '../../src/pages/dialog/problem.tsx'
import { languages, wordsFor } from '../../src/pages/ui/words.ts'
import { everyDialogPage, everyPage, makeChooseAccount, makeDialogProblem, makeFrame } from './make.ts'
import { makeDialogConsent } from './make-consent.ts'

const frame = makeFrame({ dialog: true })
const base = makeFrame({ dialog: true, account: null, user: null })
const values = (html: string, name: string) =>
  Array.from(html.matchAll(new RegExp(`<button[^>]*name="${name}" value="([^"]*)"`, 'g')), ([, value]) => value)
const formsOf = (html: string) => Array.from(html.matchAll(/<form\b.*?<\/form>/gs), ([form]) => form)

describe.each(Object.entries(everyDialogPage(makeFrame())).filter(([name]) => name !== 'activate'))('%s', (_, html) => {
  test('is marked as a dialog, without navigation, help or a way to sign out', () => {
    expect(html).toContain('<body class="compact">')
    expect(html).not.toMatch(/<nav\b|action="\/sign-out"|Need help/)
    expect(html).toContain('action="/language"')
  })

  test('links only within the page, back to the application, to the start of signing in, or to a window of its own', () => {
    const leading = Array.from(html.matchAll(/<a\b([^>]*)>/g), ([, tag = '']) => tag).filter(
      (tag) =>
        !/href="(#|\/sign-in\?next=%2Fdialog)/.test(tag) && !/target="_blank" rel="noopener noreferrer"/.test(tag),
    )
    const outside = leading.filter((tag) => !/href="https:\/\/app\.acme\.example\/[^"]*" rel="noreferrer"/.test(tag))
    expect(outside).toEqual([])
  })
})

test('account recovery opens a new window in a dialog, and only there', () => {
  expect(everyDialogPage(makeFrame()).dialogSignIn).toContain(
    '<a href="/recover" target="_blank" rel="noopener noreferrer">',
  )
  expect(everyPage(makeFrame()).signIn).toContain('<a href="/recover">')
})

test('starting to sign in again does not lose the dialog', () => {
  expect(everyDialogPage(makeFrame()).dialogSecondStep).toContain('href="/sign-in?next=%2Fdialog%3Frequest%3Dr"')
})

describe('choosing an account', () => {
  test('recently used accounts are buttons, each with its host', () => {
    const html = chooseAccountPage(base, makeChooseAccount())
    expect(values(html, 'account')).toEqual(['northwind', 'acme'])
    expect(html).toContain('<bdi dir="ltr">northwind.service.example:8080</bdi>')
  })

  test('Enter in the field does not choose a recent account', () => {
    const [typing = ''] = formsOf(chooseAccountPage(base, makeChooseAccount())).filter((form) =>
      form.includes('name="typed"'),
    )
    expect(typing).not.toContain('name="account"')
    expect(typing).toContain('type="submit"')
  })

  test('every form of a dialog carries its request', () => {
    const forms = formsOf(chooseAccountPage(base, makeChooseAccount())).filter((form) => !form.includes('/language'))
    expect(forms).toHaveLength(2)
    for (const form of forms) expect(form).toMatch(/action="\/dialog".*name="request" value="request"/)
  })

  test('the rest of the host is beside the field and part of its label', () => {
    const html = chooseAccountPage(base, makeChooseAccount())
    expect(html).toMatch(/<input[^>]*name="typed"[^>]*aria-describedby="typed-hint typed-after"/)
    expect(html).toContain('<span id="typed-after">.service.example:8080</span>')
  })

  test('without a dialog, nothing is filled in and no application is named', () => {
    const html = chooseAccountPage(base, makeChooseAccount({ purpose: { kind: 'activate' }, known: [] }))
    expect(html).toContain('Enter your application code')
    expect(html).toContain('Choose your account.')
    expect(html).toContain('action="/activate"')
    expect(html).not.toMatch(/name="(request|code|user_code)"|Acme/)
  })

  test.each([
    ['empty', 'Enter the first part of your account’s address.'],
    ['unknown', 'There is no account at this address.'],
  ] as const)('%s is said at the top and at the field, and what was typed is still there', (problem, text) => {
    const html = chooseAccountPage(base, makeChooseAccount({ typed: 'nortwind', problem }))
    expect(html).toContain(`<a href="#typed">${text}`)
    expect(html).toContain(`id="typed-problem">${text}`)
    expect(html).toMatch(/<input[^>]*name="typed"[^>]*value="nortwind"[^>]*aria-invalid="true"/)
    expect(html.match(/autofocus/g)).toHaveLength(1)
  })
})

describe('the consent page', () => {
  test('Cancel comes first, and looks exactly as Allow does', () => {
    const html = dialogConsentPage(frame, makeDialogConsent())
    expect(values(html, 'decision')).toEqual(['cancel', 'allow'])
    const looks = Array.from(html.matchAll(/class="([^"]*)" name="decision"/g), ([, look]) => look)
    expect(looks[0]).toBe(looks[1])
  })

  test.each([
    ['lacking', 'needs permissions that you do not have'],
    ['suspended', 'is suspended while we review it'],
    ['dangerous_scope', 'asks for a high-risk permission but has not been reviewed'],
    ['too_many_grants', 'users of other accounts can connect it, and that number is reached'],
  ] as const)('Allow is not offered when it is not possible, and why is said: %s', (prevented, text) => {
    const html = dialogConsentPage(frame, makeDialogConsent({ prevented }))
    expect(values(html, 'decision')).toEqual(['cancel'])
    expect(html).toContain(text)
    expect(html).not.toContain('Access ends after 60 days without use')
  })

  test('the decision is bound to the request and the shown scopes', () => {
    const html = dialogConsentPage(frame, makeDialogConsent())
    expect(html).toContain(
      'value="signed /dialog/decision {&quot;request&quot;:&quot;request&quot;,&quot;shown&quot;:&quot;calendars,screens&quot;}"',
    )
    expect(html).toContain('value="signed /dialog/switch {&quot;request&quot;:&quot;request&quot;}"')
  })

  test('shows the user, the lifetime and the redirect host, and no code', () => {
    const html = dialogConsentPage(frame, makeDialogConsent())
    expect(html).toContain('Signed in as </span><bdi class="strong">maria@northwind.example</bdi>')
    expect(html).toContain('Access ends after 60 days without use')
    expect(html).toContain('You will return to <bdi class="strong">app.acme.example</bdi>.')
    expect(html).not.toMatch(/user-code|last_group|expiry-notice|not_me/)
  })

  test('scopes that the user lacks are shown separately', () => {
    const html = dialogConsentPage(frame, makeDialogConsent())
    const [, given = '', lacking = ''] = html.split(/<ul class="permissions[^"]*">/)
    expect(given.split('</ul>')[0]).toContain('See your calendars')
    expect(given.split('</ul>')[0]).not.toContain('Order screens')
    expect(lacking.split('</ul>')[0]).toContain('Order screens')
  })

  test('a change since it was shown is shown first, and in the title', () => {
    const html = dialogConsentPage(frame, makeDialogConsent({ problem: 'changed' }))
    expect(html).toContain('<title>Problem: ')
    expect(html).toMatch(/role="alert".*Your permissions have changed.*<h1>/s)
  })
})

const PROBLEMS: readonly DialogProblemModel['problem'][] = [
  'unknown_application',
  'redirect_not_registered',
  'suspended',
  'bad_request',
  'other_browser',
  'expired',
  'answered',
  'barred',
  'not_set_up',
  'too_many',
]

describe('nothing to decide', () => {
  test.each(languages)(
    'in $name, every problem has its own heading and text, also where no application is known',
    ({ code }) => {
      const told = PROBLEMS.map((problem) => {
        const model = makeDialogProblem({ problem, application: null })
        const html = dialogProblemPage(makeFrame({ ...base, words: wordsFor(code) }), model)
        return /<h1>(.*?)<\/h1><p>(.*?)<\/p>/.exec(html)?.slice(1) ?? []
      })
      expect(new Set(told.map(([heading]) => heading)).size).toBe(PROBLEMS.length)
      expect(new Set(told.map(([, text]) => text)).size).toBe(PROBLEMS.length)
    },
  )

  test('DG-20: neither the host nor the technical line can add an element', () => {
    const hostile = '"><img src=x onerror=alert(1)>'
    const returnTo = { href: `https://app.acme.example/${hostile}`, host: hostile }
    const html = dialogProblemPage(base, makeDialogProblem({ application: hostile, detail: hostile, returnTo }))
    expect(html).not.toContain('<img')
    expect(html).toContain('href="https://app.acme.example/&quot;>')
  })

  test('the link back names its target, sends no referrer, and is no redirect', () => {
    const html = dialogProblemPage(base, makeDialogProblem())
    expect(html).toContain(
      '<a class="button" href="https://app.acme.example/back?error=invalid_scope&amp;state=s" rel="noreferrer">Return to app.acme.example</a>',
    )
    expect(html).not.toMatch(/http-equiv|You can close this window/)
  })

  test('where nothing may be sent back, there is no link back, and the window can be closed', () => {
    const html = dialogProblemPage(base, makeDialogProblem({ problem: 'redirect_not_registered', returnTo: null }))
    expect(html).not.toMatch(/<a [^>]*href="[^#]/)
    expect(html).toContain('You can close this window.')
  })

  test('details for developers are marked as such, and shown only if there are any', () => {
    const known = dialogProblemPage(base, makeDialogProblem())
    expect(known).toMatch(/For developers:.*<code[^>]*dir="ltr">invalid_scope: /s)
    expect(dialogProblemPage(base, makeDialogProblem({ detail: null }))).not.toMatch(/developers|<code/)
  })
})
