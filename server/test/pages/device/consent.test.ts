/** The decision: what is shown before it, and two answers of the same weight. */
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

test.each([{ grantable: false }, { suspended: true }])('Allow is not offered when it is not possible: %j', (reason) => {
  const values = answers(consentPage(frame, makeConsent({ ...reason, retype: true }))).map(({ value }) => value)
  expect(values).toEqual(['cancel', 'not_me'])
  expect(consentPage(frame, makeConsent({ ...reason, retype: true }))).not.toContain('name="last_group"')
})

test('the decision is tied to the code and to the permissions that were shown', () => {
  const html = consentPage(frame, makeConsent())
  expect(html).toContain(
    'value="signed /connect/decision {&quot;ref&quot;:&quot;ref&quot;,&quot;shown&quot;:&quot;calendars,screens&quot;}"',
  )
})

test('what the user lacks stands apart from what would be given, with the role to ask for', () => {
  const html = consentPage(frame, makeConsent())
  const [, given = '', lacking = ''] = html.split(/<ul class="permissions[^"]*">/)
  expect(given).toContain('See your calendars')
  expect(given.split('</ul>')[0]).not.toContain('Order screens')
  expect(lacking).toContain('Order screens')
  expect(lacking).toContain('Ask an administrator of Northwind for the role Billing or Owner.')
})

test('what the application says of itself stands apart from what the server saw', () => {
  const [, quoted = ''] = /<blockquote>(.*?)<\/blockquote>/.exec(consentPage(frame, makeConsent())) ?? []
  expect(quoted).toBe('<bdi>Living room</bdi>')
})

test('a group that must be typed again is not on the page to be copied from', () => {
  expect(consentPage(frame, makeConsent())).toContain('432 324 981')
  const html = consentPage(frame, makeConsent({ retype: true }))
  expect(html).toContain('name="last_group"')
  expect(html).not.toContain('981')
})

test('a crowd is told of without saying whose people they are', () => {
  const html = consentPage(frame, makeConsent({ crowded: true }))
  const [, warning = ''] = /<div class="notice warning">(.*?)<\/div>/s.exec(html) ?? []
  expect(warning).toContain('many people were asked by this application from the same place')
  expect(warning).not.toContain('Northwind')
})

test('a permission that no role is named for is still told of, with whom to ask', () => {
  const lacking = [{ name: 'orders', title: 'Order screens', dangerous: false, roles: [], required: false }]
  expect(consentPage(frame, makeConsent({ lacking }))).toContain(
    'You lack the permission. Ask an administrator of Northwind.',
  )
})

test.each([
  ['token_set', 'ends after 60 days without use, and in any case 365 days after you allow it'],
  ['access_key', 'Until you remove it.'],
] as const)('how long a %s lasts is said', (variant, text) => {
  expect(consentPage(frame, makeConsent({ variant }))).toContain(text)
})

test('a request that is no longer open is told of in one text', () => {
  const closed = decidedPage(frame, { outcome: 'closed', application: null })
  expect(closed).toContain('This request is no longer open')
  expect(closed).not.toContain('Acme')
})

test('the field for a code is text with digits, without a length, and never remembered by the browser', () => {
  const html = enterCodePage(frame, { typed: '', problem: null, off: false, only: null })
  const [field = ''] = /<input[^>]*name="code"[^>]*>/.exec(html) ?? []
  expect(field).toContain('type="text"')
  expect(field).toContain('inputmode="numeric"')
  expect(field).toContain('autocomplete="off"')
  expect(field).toContain('autofocus')
  expect(field).not.toContain('maxlength')
})

test('what is wrong takes the focus before the field does', () => {
  const html = enterCodePage(frame, { typed: '1', problem: { kind: 'mistyped' }, off: false, only: null })
  expect(html.match(/autofocus/g)).toHaveLength(1)
  expect(html).toMatch(/<div[^>]*role="alert"[^>]*tabindex="-1"[^>]*autofocus/i)
  expect(html).toMatch(/<input[^>]*aria-describedby="app-code-hint app-code-problem"[^>]*aria-invalid="true"/)
})
