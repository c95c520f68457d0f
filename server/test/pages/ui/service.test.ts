/** Pages show the operator's product: its name where there is no account, and its own pages below every page. */
import { expect, test } from 'vitest'
import { page } from '../../../src/pages/ui/layout.tsx'
import { makeFrame } from '../make.ts'

const service = {
  name: 'Acme Cloud',
  logo: null,
  links: [
    { kind: 'help', href: 'https://help.service.example/' },
    { kind: 'privacy', href: 'https://service.example/privacy' },
  ],
} as const

test('a page without an account is headed and titled with the name of the service', () => {
  const html = page(makeFrame({ service, account: null, user: null }), 'Connect a device', 'content')
  expect(html).toContain('<title>Connect a device – Acme Cloud</title>')
  expect(html).toContain('<span class="account">Acme Cloud</span>')
})

test('help and privacy open in another tab; terms, which are not set, are not there', () => {
  const html = page(makeFrame({ service }), 'Home', 'content')
  expect(html).toContain('<a href="https://help.service.example/" target="_blank" rel="noopener noreferrer">Help</a>')
  expect(html).toContain('>Privacy</a>')
  expect(html).not.toContain('>Terms</a>')
})

test('with a help page nobody is sent to the administrators of the account', () => {
  expect(page(makeFrame(), 'Home', 'content')).toContain('Contact an administrator of Northwind')
  expect(page(makeFrame({ service }), 'Home', 'content')).not.toContain('Contact an administrator of Northwind')
})

test('the logo of the service heads every page, with and without an account', () => {
  const logo = { path: '/assets/service.1.png', url: 'https://service.example/assets/service.1.png' }
  const img = '<img class="service-logo" src="/assets/service.1.png" alt="Acme Cloud"/>'
  for (const frame of [
    makeFrame({ service: { ...service, logo } }),
    makeFrame({ service: { ...service, logo }, account: null, user: null }),
  ]) {
    expect(page(frame, 'Home', 'content')).toContain(img)
  }
})
