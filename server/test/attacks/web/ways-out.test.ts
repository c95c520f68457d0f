/** WB-15, WB-16: open redirects, and a service without its configuration. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService } from '../../../src/app.ts'
import { ConfigurationError } from '../../../src/setting-texts.ts'
import { type MadeUser, makeConfig, makeUser } from '../../rig/make.ts'
import { USERS_FROM } from '../../rig/origins/users-from.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor } from '../../rig/signed-in.ts'
import type { Page, Web } from '../../rig/web.ts'
import { sessionsOf } from '../../rig/witness.ts'

const PASSWORD = 'a quiet green harbour'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

describe('open redirects', () => {
  const away = [
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '%2f%2fevil.example',
    '/%09//evil.example',
    '/%5cevil.example',
    'https:evil.example',
    'https://evil.example',
    'http:/evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    'evil.example',
    '@evil.example',
    '/@evil.example',
    '/..//evil.example',
    '/a?next=//evil.example',
    '/a#@evil.example',
    '/\u2028/evil.example',
    '/security\r\nset-cookie: a=b',
    '',
  ]

  it.each(away)('WB-15: next=%j leads to the home page, at every route that takes one', async (next) => {
    const user = await makeUser(service.context.db, service.account.slug, { password: PASSWORD })
    const web = service.web()
    const signedIn = await (USERS_FROM === 'own' ? signInHere : signInElsewhere)(web, user, next)
    const again = await web.send('GET', `/sign-in?${new URLSearchParams({ next })}`)
    const language = await web.send('POST', '/language', { language: 'en', next })
    for (const answer of [...signedIn, again, language]) {
      expect([
        answer.status,
        answer.location,
        answer.headers['set-cookie']?.toString().includes('a=b') ?? false,
      ]).toEqual([303, '/', false])
    }
    expect(await sessionsOf(service, user)).toHaveLength(1)
  })

  async function signInHere(web: Web, user: MadeUser, next: string): Promise<readonly Page[]> {
    const shown = await web.send('GET', `/sign-in?${new URLSearchParams({ next })}`)
    expect(shown.text).toContain('name="next" value="/"')
    const signedIn = await web.send('POST', '/sign-in', { email: user.email, password: PASSWORD, next })
    const form = await signedFor(service, user, '/confirm', {})
    return [signedIn, await web.send('POST', '/confirm', { ...form, password: PASSWORD, next })]
  }

  /** `next` is in the address of the host service's answer, which its user can change. */
  async function signInElsewhere(web: Web, user: MadeUser, next: string): Promise<readonly Page[]> {
    const answers: Page[] = []
    for (const path of ['/sign-in', '/confirm']) {
      await web.send('GET', `${path}?${new URLSearchParams({ next })}`)
      const back = await web.authenticateElsewhere(user.email)
      if (USERS_FROM === 'host') back.searchParams.set('next', next)
      answers.push(await web.send('GET', back.pathname + back.search))
    }
    return answers
  }

  it('WB-15: no answer redirects to another host, whatever the requested path', async () => {
    const web = service.web()
    for (const path of [
      '//evil.example',
      '//evil.example/..',
      '/\\evil.example',
      '/connect/code?next=//evil.example',
      '/.//evil.example',
    ]) {
      const { location } = await web.send('GET', path).catch(() => ({ location: null }))
      expect(new URL(location ?? '/', web.origin).origin).toBe(web.origin)
    }
  })
})

describe('a service without its configuration', () => {
  it.each([
    ['without keys', { LATCHKEY_KEYS: '' }],
    ['with half a key', { LATCHKEY_KEYS: '1:short' }],
    ['without a database', { DATABASE_URL: '' }],
    ['with a host that it cannot read', { PUBLIC_URL: 'https://service.example/path' }],
    ['with a proxy that it cannot read', { TRUST_PROXY: 'everybody' }],
  ])('WB-16: %s, it does not start', (_how, environment) => {
    expect(() => makeConfig({ DATABASE_URL: service.database.url, ...environment })).toThrow(ConfigurationError)
  })

  it.each([
    ['GEOIP_CITY_FILE', '/absent.mmdb'],
    ['DATABASE_URL', 'postgres://127.0.0.1:1/absent'],
  ])('WB-16: with an unreachable %s it does not listen', async (name, value) => {
    const config = makeConfig({ DATABASE_URL: service.database.url, [name]: value })
    await expect(startService(config)).rejects.toThrow()
  })
})
