/** Registration of an application step by step, and its redirect URIs. */
import { describe, expect, test } from 'vitest'
import { redirectProblem } from '../../../src/core/dialog/redirect-uri.ts'
import { redirectProblemText } from '../../../src/pages/applications/redirects-field.tsx'
import { type RegisterModel, registerApplicationPage } from '../../../src/pages/applications/register.tsx'
import type { RedirectProblemAt } from '../../../src/pages/applications/scope-choice.tsx'
import { applicationSettingsPage } from '../../../src/pages/applications/settings.tsx'
import { languages, wordsFor } from '../../../src/pages/ui/words.ts'
import { makeFrame } from '../make.ts'
import { fieldsOf, formsOf, makeRegister, makeSettingsModel, REDIRECT, scopes } from '../make-developer.ts'

const frame = makeFrame()
const hiddenOf = (form: string) =>
  Object.fromEntries(
    Array.from(form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g), ([, name, value]) => [
      name,
      value,
    ]),
  )
const selectOf = (html: string, name: string) =>
  new RegExp(`<select[^>]*name="use\\.${name}"[^>]*>.*?</select>`).exec(html)?.[0] ?? ''

describe('registering', () => {
  test.each([
    ['kind', { step: 'kind', redirects: REDIRECT, 'use.calendars:read': 'required', 'use.orders': 'default' }],
    ['scopes', { step: 'scopes', name: 'Acme Signage', kind: 'web', redirects: REDIRECT }],
    [
      'redirects',
      {
        step: 'redirects',
        name: 'Acme Signage',
        kind: 'web',
        'use.calendars:read': 'required',
        'use.orders': 'default',
      },
    ],
  ] as const)('the step %s brings every answer along that it does not ask for itself', (step, carried) => {
    const [form = ''] = formsOf(registerApplicationPage(frame, makeRegister({ step })), '/developer/new')
    const { token, ...rest } = hiddenOf(form)
    expect(rest).toEqual(carried)
    const names = fieldsOf(form).filter((name) => step !== 'kind' || name !== 'kind')
    expect(names).toEqual([...new Set(names)])
  })

  test.each([
    ['kind', null, 'Step 1 of 3'],
    ['kind', 'device', 'Step 1 of 2'],
    ['scopes', 'device', 'Step 2 of 2'],
    ['scopes', 'page', 'Step 2 of 3'],
    ['redirects', 'web', 'Step 3 of 3'],
  ] as const)('step %s of a %s is called %s', (step, kind, text) => {
    const html = registerApplicationPage(frame, makeRegister({ step, kind }))
    expect(html).toContain(`>${text}</p>`)
    expect(html.includes('>Register application</button>')).toBe(text[5] === text.at(-1))
  })

  test('nothing is preselected: neither a kind nor a scope', () => {
    const none = scopes.map((scope) => ({ ...scope, use: 'no' as const }))
    const model = makeRegister({ name: '', kind: null, scopes: none, redirects: '' })
    expect(registerApplicationPage(frame, model)).not.toContain(' checked')
    const html = registerApplicationPage(frame, { ...model, step: 'scopes', kind: 'web' })
    expect(html.match(/<option selected[^>]*>|<option[^>]* selected[^>]*>/g)).toHaveLength(scopes.length)
    expect(html.match(/<option(?=[^>]* selected)(?=[^>]* value="no")/g)).toHaveLength(scopes.length)
  })

  test('going back a step keeps the answers so far', () => {
    const [, back = ''] =
      /<a href="\/developer\/new\?([^"]*)">/.exec(registerApplicationPage(frame, makeRegister({ step: 'scopes' }))) ??
      []
    expect(Object.fromEntries(new URLSearchParams(back.replaceAll('&amp;', '&')))).toEqual({
      name: 'Acme Signage',
      kind: 'web',
      'use.calendars:read': 'required',
      'use.orders': 'default',
    })
    const [, again = ''] = formsOf(
      registerApplicationPage(frame, makeRegister({ step: 'redirects' })),
      '/developer/new',
    )
    expect(hiddenOf(again)).toMatchObject({ step: 'kind', kind: 'web', redirects: REDIRECT, 'use.orders': 'default' })
  })

  test('a scope excluded from the device flow can be chosen for the dialog, and not for the device flow alone', () => {
    const html = (kind: RegisterModel['kind']) => registerApplicationPage(frame, makeRegister({ step: 'scopes', kind }))
    expect(selectOf(html('web'), 'orders')).toMatch(
      /^<select(?![^>]*disabled).*<option(?=[^>]*selected)[^>]*value="default"/,
    )
    expect(selectOf(html('device'), 'orders')).toMatch(/^<select[^>]*disabled.*<option(?=[^>]*selected)[^>]*value="no"/)
    expect(selectOf(html('device'), 'calendars:read')).not.toContain('disabled')
  })

  test('dangerous scopes and those excluded from the device flow are marked, and no others', () => {
    const html = registerApplicationPage(frame, makeRegister({ step: 'scopes' }))
    const [, calendars = '', orders = '', screens = ''] = html.split('<div class="field">')
    for (const mark of ['>High risk<', '>Dialog only<']) {
      expect(orders).toContain(mark)
      expect(calendars + screens).not.toContain(mark)
    }
  })

  test('a problem with the scopes links to the first that can be chosen', () => {
    const model = makeRegister({ step: 'scopes', kind: 'device', scopes: scopes.slice(1), problem: 'scopes' })
    expect(registerApplicationPage(frame, model)).toContain('<a href="#use-screens">Select at least one permission')
  })
})

/** One redirect URI per possible problem. */
const WRONG: Readonly<Record<RedirectProblemAt['reason'], string>> = {
  none: '',
  too_many: '',
  too_long: `https://app.example/${'a'.repeat(2000)}`,
  not_an_address: 'app.example/back',
  scheme: 'http://app.example/back',
  userinfo: 'https://me@app.example/back',
  fragment: 'https://app.example/back#here',
  wildcard: 'https://app.example/*',
  host: 'https://app_1.example/back',
  not_canonical: 'HTTPS://App.example/back',
  characters: 'https://app.example/a[1]',
  query: 'https://app.example/back?state=1',
}
const problems = Object.entries(WRONG).map(([reason, uri]) => ({ reason, uri }) as RedirectProblemAt)

describe('redirect URIs', () => {
  test.each(problems.filter(({ uri }) => uri !== ''))('$why is the problem of its example', ({ reason, uri }) => {
    expect(redirectProblem(uri)).toBe(reason)
  })

  test.each(languages)(
    'in $name, everything that can be wrong has words of its own and names the address',
    ({ code }) => {
      const words = wordsFor(code)
      const texts = problems.map((problem) => ({ ...problem, text: redirectProblemText(words, problem) }))
      expect(new Set(texts.map(({ uri, text }) => text.replace(uri, ''))).size).toBe(problems.length)
      for (const { uri, text } of texts) expect(text).toContain(uri.slice(0, 100))
    },
  )

  test('the correct spelling is shown', () => {
    const problem = { reason: 'not_canonical', uri: WRONG.not_canonical } as const
    expect(redirectProblemText(frame.words, problem)).toContain('Enter https://app.example/back instead.')
  })

  test('a long one is shortened', () => {
    expect(redirectProblemText(frame.words, { reason: 'too_long', uri: WRONG.too_long }).length).toBeLessThan(250)
  })

  test.each([
    [
      'registering',
      (problem: RedirectProblemAt) => registerApplicationPage(frame, makeRegister({ step: 'redirects', problem })),
    ],
    ['the settings', (problem: RedirectProblemAt) => applicationSettingsPage(frame, makeSettingsModel({ problem }))],
  ] as const)(
    'in %s what is wrong is said at the top and at the field, and what was typed is still there',
    (_, show) => {
      const html = show({ reason: 'wildcard', uri: WRONG.wildcard })
      expect(html).toContain(`<a href="#redirects">${WRONG.wildcard} contains a *.`)
      expect(html).toContain(`id="redirects-problem">${WRONG.wildcard} contains a *.`)
      expect(html).toMatch(
        /<textarea[^>]*aria-invalid="true"[^>]*>https:\/\/app\.acme\.example\/back\?shop=7<\/textarea>/,
      )
      expect(html).toContain('<title>Problem: ')
    },
  )
})
