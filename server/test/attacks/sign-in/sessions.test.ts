/** WB-01 to WB-06: forms, cookies and sessions of the web interface against sibling hosts and thieves. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeContext, createContext, type RunningService, startService } from '../../../src/app.ts'
import { setPasswordByLink } from '../../../src/flows/sign-in/links.ts'
import { createLink } from '../../../src/flows/sign-in/mailed-link.ts'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { createKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { digestAddress, signLink, signSession } from '../../../src/secrets/web-texts.ts'
import { post } from '../../rig/device.ts'
import { type MadeUser, makeAccount, makeConfig, makeUser } from '../../rig/make.ts'
import { needs } from '../../rig/origins/needs.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, signedFor, signInAs } from '../../rig/signed-in.ts'
import type { Web } from '../../rig/web.ts'
import { everyRow, sessionsOf } from '../../rig/witness.ts'

const MINUTE = 60_000
const PASSWORD = 'a quiet green harbour'

let service: TestService
let elsewhere: RunningService
beforeAll(async () => {
  service = await startTestService({}, { clock: true, operators: true })
  // A second process of the same service: its answers depend on the rows only.
  const { databaseUrl, publicUrl } = service.config
  const settings = { DATABASE_URL: databaseUrl, PUBLIC_URL: publicUrl, OPERATOR_ACCOUNT: service.account.slug }
  elsewhere = await startService(makeConfig(settings))
})
afterAll(async () => {
  await elsewhere.stop()
  await service.stop()
})

/** The user that these cookies belong to: the e-mail address on the page, or null. */
async function whoIs(cookie: string, address = service.address): Promise<string | null> {
  const page = await post(address, '/security', { method: 'GET', headers: { host: service.web().host, cookie } })
  if (page.status === 303) return null
  return /<bdi class="email">([^<]*)</.exec(page.text)?.[1] ?? `status ${page.status}`
}

const cookieOf = (web: Web) => web.cookies.get(SESSION) ?? ''
const byCookie = (value: string) => whoIs(`${SESSION}=${value}`)

const posts = pageRoutes.filter(({ method, fromProgram }) => method === 'POST' && !fromProgram)

it('WB-01: one route alone takes a form from anywhere: a program calls it, and its token proves itself', () => {
  const paths = pageRoutes.filter(({ fromProgram }) => fromProgram).map(({ path }) => path)
  expect(paths).toEqual(['/sign-in/provider/logout'])
})

describe('forms', () => {
  const administrator = async (): Promise<{ user: MadeUser; web: Web }> => {
    const user = await makeUser(service.context.db, service.account.slug)
    return { user, web: await signInAs(service, user) }
  }

  it.each(posts.map((route) => [route.path, route] as const))(
    'WB-01: %s takes no form of a sibling account or another site, however well it is signed',
    async (path, route) => {
      const { user, web } = await administrator()
      const bound = Object.fromEntries((route.bound ?? []).map((name) => [name, '']))
      const form = await signedFor(service, user, path, bound)
      const before = await everyRow(service)
      const sibling = `http://sibling.${new URL(service.config.publicUrl).host}`
      for (const [origin, site] of [
        [sibling, 'same-site'],
        [service.config.publicUrl, 'same-site'],
        [web.origin, 'same-site'],
        [web.origin.replace('http:', 'https:'), 'cross-site'],
        [`${web.origin}.evil.example`, 'cross-site'],
        [`${web.origin}, ${sibling}`, 'same-origin'],
        ['null', 'cross-site'],
      ] as const) {
        const answer = await web.send('POST', path, form, { origin, 'sec-fetch-site': site })
        expect([origin, answer.status, answer.headers['set-cookie']]).toEqual([origin, 403, undefined])
      }
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it.each(posts.filter(({ access }) => access !== 'anyone').map((route) => [route.path, route] as const))(
    'WB-01: %s takes no form of our own origin, either, unless it was signed for this very session and route',
    async (path, route) => {
      const [mine, theirs] = [await administrator(), await administrator()]
      const bound = Object.fromEntries((route.bound ?? []).map((name) => [name, '']))
      const right = await signedFor(service, mine.user, path, bound)
      const tokens = {
        none: undefined,
        empty: '',
        'somebody else’s': (await signedFor(service, theirs.user, path, bound)).token,
        'of another route': (await signedFor(service, mine.user, '/elsewhere', bound)).token,
        'of other values': (await signedFor(service, mine.user, path, { ...bound, more: '' })).token,
        'of another key': right.token?.replace(/^1\./, '2.'),
        'cut short': right.token?.slice(0, -1),
      }
      const before = await everyRow(service)
      for (const [kind, token] of Object.entries(tokens)) {
        const answer = await mine.web.send('POST', path, { ...bound, ...(token === undefined ? {} : { token }) })
        expect([kind, answer.status]).toEqual([kind, 403])
      }
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it('WB-02: a double-submit token in a cookie is not accepted', async () => {
    const { web } = await makeSignedInUser(service)
    for (const name of ['csrf', 'token', '_csrf', 'XSRF-TOKEN', '__Host-token']) web.cookies.set(name, 'tossed')
    const before = await everyRow(service)
    for (const field of ['csrf', 'token', '_csrf']) {
      const answer = await web.send('POST', '/sign-out', { [field]: 'tossed' }, { 'x-csrf-token': 'tossed' })
      expect(answer.status).toBe(403)
    }
    expect(await everyRow(service)).toEqual(before)
  })
})

describe('cookies', () => {
  const latin1 = (text: string) => Buffer.from(text).toString('latin1')

  it('WB-02, WB-03: similar cookies that a sibling host can set are no session, and do not disturb the real one', async () => {
    const [victim, attacker] = [await makeSignedInUser(service), await makeSignedInUser(service)]
    const [real, planted] = [cookieOf(victim.web), cookieOf(attacker.web)]
    const lookAlikes = [
      `__host-session=${planted}`,
      `__HOST-SESSION=${planted}`,
      `session=${planted}`,
      `__Secure-session=${planted}`,
      `__Host-session2=${planted}`,
      `=__Host-session=${planted}`,
      `${latin1('\u2000')}__Host-session=${planted}`,
      `${latin1('\u0085')}__Host-session=${planted}`,
      `\u0085__Host-session=${planted}`,
      `\u00a0__Host-session=${planted}`,
      `\t__Host-session=${planted}`,
      `  __Host-session=${planted}`,
      `__Host-session =${planted}`,
      `"__Host-session"=${planted}`,
      `$Version=1`,
      `__Host-session`,
    ]
    for (const cookie of lookAlikes) {
      // After another cookie: leading blanks of a header are removed on the way.
      expect([cookie, await whoIs(`a=1;${cookie}`)]).toEqual([cookie, null])
      expect([cookie, await whoIs(`a=1;${cookie}; ${SESSION}=${real}`)]).toEqual([cookie, victim.user.email])
      expect([cookie, await whoIs(`${SESSION}=${real};${cookie}`)]).toEqual([cookie, victim.user.email])
    }
  })

  it('WB-03: two session cookies count as none, wherever the second one is', async () => {
    const [victim, attacker] = [await makeSignedInUser(service), await makeSignedInUser(service)]
    const [one, two] = [`${SESSION}=${cookieOf(victim.web)}`, `${SESSION}=${cookieOf(attacker.web)}`]
    for (const cookie of [
      `${one}; ${two}`,
      `${two}; ${one}`,
      `${one}; ${one}`,
      `a="x; ${two}"; ${one}; b=y"`,
      `${one};${two}`,
    ]) {
      expect([cookie, await whoIs(cookie)]).toEqual([cookie, null])
    }
    expect(await sessionsOf(service, victim.user), 'and nobody is signed out by it').toHaveLength(1)
  })

  it('WB-04: a forged or altered cookie is no session', async () => {
    const { user, web } = await makeSignedInUser(service)
    const value = cookieOf(web)
    const [id = ''] = await sessionsOf(service, user)
    const { keys } = service.config
    const strange = parseKeyset(createKey(1)) as Keyset
    expect(await byCookie(value)).toBe(user.email)
    const changed = Array.from(
      value,
      (character, at) => value.slice(0, at) + (character === 'A' ? 'B' : 'A') + value.slice(at + 1),
    )
    const forged = [
      ...changed,
      ...[1, 4, 20, 40].map((length) => value.slice(0, -length)),
      '',
      `"${value}"`,
      `${value}=`,
      `${value}A`,
      encodeURIComponent(`${value} `),
      id,
      `lkw_${Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')}`,
      JSON.stringify({ user: user.id, account: service.account.id }),
      signSession(keys, randomUUID(), service.account.slug),
      signSession(keys, id, 'another'),
      signSession(strange, id, service.account.slug),
      signLink(keys, id, service.account.slug),
    ]
    const before = await everyRow(service)
    for (const cookie of forged) expect([cookie, await byCookie(cookie)]).toEqual([cookie, null])
    expect(await everyRow(service)).toEqual(before)
    expect(await byCookie(value)).toBe(user.email)
  })

  it('WB-04: a session expires, and ends when its user is disabled', async () => {
    const [late, disabled] = [await makeSignedInUser(service), await makeSignedInUser(service)]
    await service.database.query('update users set disabled_at = now() where id = $1', [disabled.user.id])
    expect(await byCookie(cookieOf(disabled.web))).toBeNull()
    await service.database.advance(7 * 24 * 60 * MINUTE)
    expect(await byCookie(cookieOf(late.web))).toBeNull()
  })

  it('WB-02: cookies are __Host-, Secure, HttpOnly and SameSite', needs('password'), async () => {
    const user = await makeUser(service.context.db, service.account.slug, { password: PASSWORD })
    const web = service.web()
    await web.get('/sign-in')
    const signedIn = await web.send('POST', '/sign-in', { email: user.email, password: PASSWORD, next: '/' })
    const language = await web.send('POST', '/language', { language: 'de', next: '/' })
    const set = [signedIn, language].flatMap(({ headers }) => headers['set-cookie'] ?? [])
    expect(set.map((each) => each.split('=')[0])).toEqual(['__Host-session', '__Host-browser', '__Host-language'])
    for (const each of set) {
      expect(each).toMatch(/^__Host-[a-z]+=[^;\s"]+; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=\d+$/)
    }
  })
})

describe('sessions', () => {
  const signedInBrowser = async () => {
    const user = await makeUser(service.context.db, service.account.slug, { password: PASSWORD, holds: [] })
    const web = service.web()
    await web.signIn(user.email, PASSWORD)
    return { user, web }
  }

  it('WB-05: signing in creates a new session and ends the previous one of the browser', async () => {
    const attacker = await makeSignedInUser(service)
    const planted = cookieOf(attacker.web)
    const user = await makeUser(service.context.db, service.account.slug, { password: PASSWORD, holds: [] })
    const web = service.web()
    await web.send('GET', '/sign-in')
    web.cookies.set(SESSION, planted)
    await web.signIn(user.email, PASSWORD)
    expect(cookieOf(web)).not.toBe(planted)
    expect(await byCookie(cookieOf(web))).toBe(user.email)
    expect(await byCookie(planted)).toBeNull()
    expect(await sessionsOf(service, attacker.user)).toEqual([])
    expect(await sessionsOf(service, user)).toHaveLength(1)
  })

  it(
    'WB-05: authenticating again gives the session a new id, and the old cookie is invalid',
    needs('confirmation'),
    async () => {
      const { user, web } = await signedInBrowser()
      const [before, old] = [await sessionsOf(service, user), cookieOf(web)]
      await service.database.advance(16 * MINUTE)
      await web.get('/security/authenticator')
      await web.submit('/confirm', { password: 'not this one at all' })
      expect(cookieOf(web), 'a wrong password changes nothing').toBe(old)
      await web.submit('/confirm', { password: PASSWORD })
      const after = await sessionsOf(service, user)
      expect([after.length, after[0] === before[0], cookieOf(web) === old]).toEqual([1, false, false])
      expect(await byCookie(old)).toBeNull()
      expect(await byCookie(cookieOf(web))).toBe(user.email)
    },
  )

  it('WB-06: signing out ends the session in every process', async () => {
    const { user, web } = await signedInBrowser()
    const value = cookieOf(web)
    expect(await whoIs(`${SESSION}=${value}`, elsewhere.address)).toBe(user.email)
    await web.get('/security')
    await web.submit('/sign-out')
    for (const address of [service.address, elsewhere.address]) {
      expect(await whoIs(`${SESSION}=${value}`, address)).toBeNull()
    }
    expect(await sessionsOf(service, user)).toEqual([])
  })

  it('WB-06: signing out has the browser drop its cache, and with it pages that the back button would show', async () => {
    for (const path of ['/sign-out', '/security/sign-out-everywhere']) {
      const web = await signInAs(service, service.user)
      const kept = await web.send('GET', '/')
      expect(kept.headers['clear-site-data']).toBeUndefined()
      const left = await web.send('POST', path, await signedFor(service, service.user, path, {}))
      expect([left.status, left.headers['clear-site-data']]).toEqual([303, '"cache", "storage"'])
    }
  })

  it('WB-06: signing out everywhere ends every session of the user in every process, and no other user’s', async () => {
    const { user, web } = await signedInBrowser()
    const others = [await signInAs(service, user), await signInAs(service, user)]
    const neighbour = await makeSignedInUser(service)
    await web.get('/security')
    await web.submit('/security/sign-out-everywhere')
    for (const each of [web, ...others])
      expect(await whoIs(`${SESSION}=${cookieOf(each)}`, elsewhere.address)).toBeNull()
    expect(await sessionsOf(service, user)).toEqual([])
    expect(await byCookie(cookieOf(neighbour.web))).toBe(neighbour.user.email)
  })

  it('WB-06: a new password ends every other session', needs('password'), async () => {
    const { user, web } = await signedInBrowser()
    const thief = await signInAs(service, user)
    await web.get('/security')
    const [password, again] = ['another green harbour', 'another green harbour']
    await web.submit('/security/password', { current: PASSWORD, password, again })
    expect(await byCookie(cookieOf(thief))).toBeNull()
    expect(await byCookie(cookieOf(web))).toBe(user.email)
    expect(await sessionsOf(service, user)).toHaveLength(1)
  })

  it('WB-06: a sign-in with the old password fails if the password changes meanwhile', needs('password'), async () => {
    const user = await makeUser(service.context.db, service.account.slug, { password: PASSWORD, holds: [] })
    const { context, account } = service
    const other = await createContext(service.config)
    try {
      const linkId = await context.db.transaction((tx) =>
        createLink(tx, 'recovery', { id: user.id, accountId: account.id }),
      )
      // Other sign-ins run at this moment, so that the thief's password check is queued.
      const passwords = context.passwords.known({ accountId: account.id, network: 'others' })
      const busy = Promise.all(Array.from({ length: 12 }, () => passwords.digest('somebody else’s password')))
      const thief = service.web()
      const late = thief.send('POST', '/sign-in', { email: user.email, password: PASSWORD, next: '/' })
      await reserved(user)
      const changed = await setPasswordByLink(
        other,
        { ...account, name: '', colour: null, logoVersion: null, provider: 'off' as const, issuer: null },
        {
          link: signLink(service.config.keys, linkId, account.slug),
          password: 'new green harbour',
          again: 'new green harbour',
        },
        { address: null, agent: null, known: null, mark: '', language: 'en' },
      )
      expect(changed.outcome).toBe('signed_in')
      const [own] = await sessionsOf(service, user)
      await Promise.all([late, busy])
      expect(await sessionsOf(service, user), 'only the session of who changed it').toEqual([own])
      expect(await byCookie(cookieOf(thief))).toBeNull()
    } finally {
      await closeContext(other)
    }
  })

  /** The attempt is recorded before its password is checked. */
  async function reserved({ email }: MadeUser): Promise<void> {
    const digest = digestAddress(service.config.keys, service.account.id, email)
    for (let look = 0; look < 200; look += 1) {
      const rows = await service.database.query('select from sign_in_failures where email = $1', [digest])
      if (rows.length > 0) return
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    throw new Error(`${email} did not try to sign in`)
  }

  it('WB-04: a session of one account is none in another, not even for the same e-mail address', async () => {
    const { web, user } = await makeSignedInUser(service)
    const account = await makeAccount(service.context.db)
    await makeUser(service.context.db, account.slug, { email: user.email })
    const there = service.web({}, account.slug)
    there.cookies.set(SESSION, cookieOf(web))
    expect((await there.send('GET', '/security')).location).toMatch(/^\/sign-in/)
  })
})
