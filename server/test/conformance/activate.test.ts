/**
 * `/activate`, the one address that a device can show without knowing the account.
 * docs/interface/standard-dialect.md.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { DialogWindow } from '../rig/dialog.ts'
import { makeAccount } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { formFields, textOf } from '../rig/web.ts'

const { t } = wordsFor('en')

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const activate = () => `${service.config.publicUrl}/activate`

/** What a person would find typed already. */
function filledIn(html: string): string[] {
  const inputs = [...html.matchAll(/<input(?! type="hidden")[^>]*>/g)].map(
    ([tag]) => /value="([^"]*)"/.exec(tag)?.[1] ?? '',
  )
  return inputs.filter((value) => value !== '')
}

it('asks for the account and leads to its page for codes, with nothing filled in', async () => {
  const window = await new DialogWindow(service).signIn(service.user)
  const asked = await window.go(activate())
  expect([asked.page.status, filledIn(asked.page.text)]).toEqual([200, []])
  const entry = await window.submit(window.base, '/activate', { typed: service.account.slug })
  expect(entry.url.href).toBe(`${window.account.origin}/connect/code`)
  expect([entry.page.status, filledIn(entry.page.text)]).toEqual([200, []])
})

it.each(['user_code', 'code', 'device_code'])(
  'a %s in the address goes nowhere, from the first page to the last',
  async (name) => {
    const window = await new DialogWindow(service).signIn(service.user)
    const asked = await window.go(`${activate()}?${name}=123456789`)
    // The choice of a language leads back to the same address; the question has to be free of it.
    expect(formFields(asked.page.text, '/activate')).toEqual({})
    expect(filledIn(asked.page.text)).toEqual([])
    const sent = await window.base.send('POST', '/activate', { typed: service.account.slug, [name]: '123456789' })
    expect([sent.status, sent.location]).toEqual([303, `${window.account.origin}/connect/code`])
    const entry = await window.follow(new URL(activate()), sent)
    expect(entry.page.text).not.toContain('123456789')
  },
)

it('who is not signed in signs in first, and comes back to the page for codes', async () => {
  const window = new DialogWindow(service)
  await window.go(activate())
  const { url } = await window.submit(window.base, '/activate', { typed: service.account.slug })
  expect([url.host, url.pathname]).toEqual([window.account.host, '/sign-in'])
  expect(url.searchParams.get('next')).toBe('/connect/code')
})

it('remembers the account for the next time, the latest first, five at most', async () => {
  const window = new DialogWindow(service)
  const slugs: string[] = []
  for (let made = 0; made < 6; made += 1) slugs.unshift((await makeAccount(service.context.db)).slug)
  for (const slug of slugs.toReversed()) {
    await window.go(`${activate()}?another`)
    await window.submit(window.base, '/activate', { typed: slug })
  }
  const { page } = await window.go(activate())
  const offered = [...page.text.matchAll(/name="account" value="([^"]*)"/g)].map(([, slug]) => slug)
  expect(offered).toEqual(slugs.slice(0, 5))
  const chosen = await window.base.send('POST', '/activate', { account: slugs[4] ?? '' })
  expect(chosen.location).toBe(`http://${slugs[4]}.${window.base.host}/connect/code`)
})

it('leads a browser that has used one account straight to its page for codes, and asks where it wants another', async () => {
  const window = new DialogWindow(service)
  const { slug } = await makeAccount(service.context.db)
  await window.base.send('POST', '/activate', { typed: slug })
  const { status, location } = await window.base.send('GET', '/activate?user_code=123456789')
  expect([status, location]).toEqual([303, `http://${slug}.${window.base.host}/connect/code`])
  expect((await window.base.send('GET', '/activate?another')).text).toContain(`name="account" value="${slug}"`)
  await service.database.query('update accounts set slug = $2 where slug = $1', [slug, `was-${slug}`])
  expect((await window.base.send('GET', '/activate')).text).toContain('name="typed"')
})

it('takes the name alone or the whole address, and asks again for what is no account', async () => {
  const window = new DialogWindow(service)
  const { slug } = service.account
  const { host, origin } = window.account
  for (const typed of [slug, ` ${slug.toUpperCase()} `, host, `${origin}/connect/code`]) {
    const { location } = await window.base.send('POST', '/activate', { typed })
    expect(location, typed).toBe(`${origin}/connect/code`)
  }
  for (const typed of ['', 'nobody-there', 'other.example', `${slug}.other.example`, `//other.example/${slug}`]) {
    const { status, location, text } = await window.base.send('POST', '/activate', { typed })
    expect([status, location], typed).toEqual([400, null])
    expect(textOf(text)).toContain(t(`choose_account.problem_${typed === '' ? 'empty' : 'unknown'}`))
  }
})

it('a form from elsewhere chooses nothing', async () => {
  const { base } = new DialogWindow(service)
  for (const headers of [{ origin: 'https://other.example', 'sec-fetch-site': 'cross-site' }, { origin: 'null' }]) {
    const { status, location } = await base.send('POST', '/activate', { typed: service.account.slug }, headers)
    expect([status, location]).toEqual([403, null])
  }
})
