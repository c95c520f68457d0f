/** Rules for every page. docs/interface/account-pages.md, "The account's pages". */
import { describe, expect, test } from 'vitest'
import { languages, wordsFor } from '../../src/pages/ui/words.ts'
import { everyPage, makeFrame } from './make.ts'

const pages = Object.entries(everyPage(makeFrame()))
const all = (html: string, pattern: RegExp) => Array.from(html.matchAll(pattern), ([, found = '']) => found)

describe.each(pages)('%s', (_, html) => {
  test('contains nothing that the content security policy forbids', () => {
    expect(html).not.toMatch(/<[^>]*\s(style|on[a-z]+)=/)
    expect(
      all(html, /<(?:script|style)\b([^>]*)>/g).filter((tag) => !tag.includes('nonce="nonce-of-this-answer"')),
    ).toEqual([])
    expect(html).not.toMatch(/<script[^>]*>[^<]/)
  })

  test('labels and describes every field, with unique ids', () => {
    const ids = all(html, /\sid="([^"]*)"/g)
    expect(ids).toEqual([...new Set(ids)])
    const spoken = all(html, /\s(?:for|aria-labelledby|aria-describedby)="([^"]*)"/g).flatMap((list) => list.split(' '))
    expect(spoken.filter((id) => !ids.includes(id))).toEqual([])
    const fields = all(html, /<(?:input|select|textarea)\b([^>]*)>/g).filter(
      (tag) => !/type="hidden"|aria-hidden="true"/.test(tag),
    )
    const unnamed = fields.filter((tag) => !html.includes(` for="${/\sid="([^"]*)"/.exec(tag)?.[1]}"`))
    expect(unnamed).toEqual([])
  })

  test('links from each problem to an existing field', () => {
    const [, summary = ''] = /<div class="notice danger" role="alert"[^>]*>(.*?)<\/div>/s.exec(html) ?? []
    const ids = all(html, /\sid="([^"]*)"/g)
    expect(all(summary, /href="#([^"]*)"/g).filter((id) => !ids.includes(id))).toEqual([])
  })

  test('has one h1', () => {
    expect(all(html, /(<h1)\b/g)).toHaveLength(1)
  })

  test('posts every form but searches, and signs it for a signed-in user', () => {
    const forms = Array.from(html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)).filter(([, tag = '', body = '']) => {
      return !tag.includes('method="get"') || /type="(hidden|password|file)"/.test(body)
    })
    const bare = forms.filter(([, tag = '', body = '']) => {
      const action = /action="([^"]*)"/.exec(tag)?.[1]
      // A search changes nothing, and its address carries no token.
      if (tag.includes('method="get"')) return !tag.includes('class="search"') || body.includes('name="token"')
      return !tag.includes('method="post"') || !body.includes(`name="token" value="signed ${action} `)
    })
    // No form has a token where nobody is signed in; the test below checks when that is.
    expect(html.includes('name="token"') ? bare : []).toEqual([])
    expect(forms.length).toBeGreaterThan(0)
  })
})

test('all pages of an account but those of signing in within a dialog have a signed-in user', () => {
  const bare = pages.filter(([, html]) => html.includes('Northwind</bdi>') && !html.includes('name="token"'))
  expect(bare.map(([name]) => name)).toEqual(['dialogSignIn', 'dialogSignInWrong', 'dialogSecondStep'])
})

test('where nobody is signed in, no form is signed', () => {
  const out = Object.values(everyPage(makeFrame({ user: null })))
  expect(out.filter((html) => html.includes('name="token"'))).toEqual([])
})

test('DG-20: a chosen name is text everywhere', () => {
  const name = '<img src=x onerror=alert(1)>"\'</title></script>'
  const account = { name, host: 'northwind.service.example', colour: '#0a7d55;}*{display:none', logo: null }
  const frame = makeFrame({ account, user: { email: name, administrator: true } })
  const loose = Object.entries(everyPage(frame, name)).filter(
    ([, html]) => html.includes('<img src=x') || html.includes(';}*'),
  )
  expect(loose.map(([page]) => page)).toEqual([])
})

test('a problem without a field is shown once, at the top', () => {
  const { inviteTooMany = '', personTooMany = '' } = everyPage(makeFrame())
  for (const [html, text] of [
    [inviteTooMany, 'Too many invitations within an hour. Try again later.'],
    [personTooMany, 'Too many links were sent to this user within an hour. Try again later.'],
  ] as const) {
    expect(html.split(text)).toHaveLength(2)
    expect(html).toContain(`<li>${text}</li>`)
    expect(html).not.toMatch(/aria-invalid|class="wrong"/)
  }
})

test('the only passkey cannot be removed without a password: the problem links to it', () => {
  const { securityLastPasskey = '' } = everyPage(makeFrame())
  expect(securityLastPasskey).toContain('<a href="#password">This passkey is your only way to sign in. ')
  expect(securityLastPasskey).not.toMatch(/aria-invalid|class="wrong"/)
})

test.each(languages)('every page is available in $name', ({ code }) => {
  const words = wordsFor(code)
  for (const html of Object.values(everyPage(makeFrame({ words })))) {
    expect(html).toContain(`<html lang="${code}" dir="${words.direction}">`)
  }
})
