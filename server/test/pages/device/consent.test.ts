/** The consent page: what is shown before the decision, and two answers of equal weight. */
import { expect, test } from 'vitest'
import { consentPage } from '../../../src/pages/device/consent.tsx'
import { decidedPage } from '../../../src/pages/device/decided.tsx'
import { enterCodePage } from '../../../src/pages/device/enter-code.tsx'
import { makeFrame } from '../make.ts'
import { makeConsent } from '../make-consent.ts'

const frame = makeFrame()
const answers = (html: string) =>
  Array.from(html.matchAll(/<button[^>]*class="([^"]*)"[^>]*name="decision" value="([^"]*)"/g), ([, look, value]) => ({
    look,
    value,
  }))

test('Cancel comes first, and looks exactly as Allow does', () => {
  const [first, second, ...rest] = answers(consentPage(frame, makeConsent()))
  expect([first?.value, second?.value]).toEqual(['cancel', 'allow'])
  expect(first?.look).toBe(second?.look)
  expect(rest.map(({ value }) => value)).toEqual(['not_me'])
})

test.each(['lacking', 'suspended'] as const)('Allow is not offered when it is not possible: %s', (prevented) => {
  const html = consentPage(frame, makeConsent({ prevented, retype: true }))
  expect(answers(html).map(({ value }) => value)).toEqual(['cancel', 'not_me'])
  expect(html).not.toContain('name="last_group"')
})

test('the decision is bound to the code and the shown scopes', () => {
  const html = consentPage(frame, makeConsent())
  expect(html).toContain(
    'value="signed /connect/decision {&quot;ref&quot;:&quot;ref&quot;,&quot;shown&quot;:&quot;calendars,screens&quot;}"',
  )
})

test('scopes that the user lacks are shown separately, with the role that has them', () => {
  const html = consentPage(frame, makeConsent())
  const [, given = '', lacking = ''] = html.split(/<ul class="permissions[^"]*">/)
  expect(given).toContain('See your calendars')
  expect(given.split('</ul>')[0]).not.toContain('Order screens')
  expect(lacking).toContain('Order screens')
  expect(lacking).toContain('Ask an administrator of Northwind for the role Billing or Owner.')
})

test('the device’s self-description is separate from what the server observed', () => {
  const [, quoted = ''] = /<blockquote>(.*?)<\/blockquote>/.exec(consentPage(frame, makeConsent())) ?? []
  expect(quoted).toBe('<bdi>Living room</bdi>')
})

test('the group of the code that must be retyped is not on the page', () => {
  expect(consentPage(frame, makeConsent())).toContain('432 324 981')
  const html = consentPage(frame, makeConsent({ retype: true }))
  expect(html).toContain('name="last_group"')
  expect(html).not.toContain('981')
})

test('the warning of a crowd does not name accounts', () => {
  const html = consentPage(frame, makeConsent({ crowded: true }))
  const [, warning = ''] = /<div class="notice warning">(.*?)<\/div>/s.exec(html) ?? []
  expect(warning).toContain('This application has asked many people from the same place')
  expect(warning).not.toContain('Northwind')
})

test('a lacking scope without a role is shown, with whom to ask', () => {
  const lacking = [{ name: 'orders', title: 'Order screens', dangerous: false, roles: [], required: false }]
  expect(consentPage(frame, makeConsent({ lacking }))).toContain('Ask an administrator of Northwind.')
})

test.each([
  ['token_set', 'Access ends after 60 days without use, and after 365 days at the latest.'],
  ['access_key', 'Access does not expire.'],
] as const)('how long a %s lasts is said', (variant, text) => {
  expect(consentPage(frame, makeConsent({ variant }))).toContain(text)
})

test('a request that is no longer open has one text', () => {
  const closed = decidedPage(frame, { outcome: 'closed', application: null })
  expect(closed).toContain('This request is closed')
  expect(closed).not.toContain('Acme')
})

test('the field for a code is a numeric text field, without a maximum length and without autocomplete', () => {
  const html = enterCodePage(frame, { typed: '', problem: null, off: false, only: null, otherAccount: '/activate' })
  const [field = ''] = /<input[^>]*name="code"[^>]*>/.exec(html) ?? []
  expect(field).toContain('type="text"')
  expect(field).toContain('inputmode="numeric"')
  expect(field).toContain('autocomplete="off"')
  expect(field).toContain('autofocus')
  expect(field).not.toContain('maxlength')
})

test('a problem takes the focus before the field', () => {
  const html = enterCodePage(frame, {
    typed: '1',
    problem: { kind: 'mistyped' },
    off: false,
    only: null,
    otherAccount: '/activate',
  })
  expect(html.match(/autofocus/g)).toHaveLength(1)
  expect(html).toMatch(/<div[^>]*role="alert"[^>]*tabindex="-1"[^>]*autofocus/i)
  expect(html).toMatch(/<input[^>]*aria-describedby="app-code-hint app-code-problem"[^>]*aria-invalid="true"/)
})
