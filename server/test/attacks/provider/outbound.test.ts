/** FD-35 … FD-40: what a hostile provider may try with the service, and others with its logout. */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createProviders } from '../../../src/flows/provider/client.ts'
import { limitPerIssuer } from '../../../src/flows/provider/request-limits.ts'
import { testProviderSettings } from '../../../src/flows/provider/settings.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { createOutbound } from '../../../src/outbound.ts'
import {
  ADA,
  asHost,
  type Claims,
  connectProvider,
  makeProviderKey,
  signInAtProvider,
  signWith,
  startProvider,
} from '../../rig/identity-provider.ts'
import { makeAccount } from '../../rig/make.ts'
import { useProviderScene } from '../../rig/provider-scene.ts'
import { signInAs } from '../../rig/signed-in.ts'
import type { Web } from '../../rig/web.ts'

const scene = useProviderScene()

const { connect, browser } = scene

/** As in production: no private addresses. */
const guarded = createProviders(createOutbound({ allowPrivate: false, dnsServers: [] }))
const open = createProviders(createOutbound({ allowPrivate: true, dnsServers: [] }))
const client = (issuer: string) => ({ issuer, clientId: 'latchkey', clientSecret: 'secret' })
const REDIRECT = 'https://acme.latchkey.example/sign-in/provider/return'

const INSIDE = [
  'https://169.254.169.254',
  'https://10.0.0.1',
  'https://[::1]',
  'https://localhost',
  'https://db.internal',
]

describe('FD-35: an address inside', () => {
  it.each(INSIDE)('as issuer is refused before any request: %s', async (issuer) => {
    expect(await guarded.test(client(issuer), REDIRECT, Date.now())).toBe('private')
  })

  it.each([
    ['http://login.corp.example', 'not_https'],
    ['https://login.corp.example:22', 'address'],
    ['https://user@login.corp.example', 'address'],
    ['https://login.corp.example/?a=b', 'address'],
    ['https://login.corp.example/.well-known/evil', 'address'],
    ['login.corp.example', 'address'],
    ['file:///etc/passwd', 'not_https'],
  ])('or none that can be one, %s: %s', async (issuer, problem) => {
    expect(await guarded.test(client(issuer), REDIRECT, Date.now())).toBe(problem)
  })

  it('as this machine is refused without the setting for development', async () => {
    expect(await guarded.test(client(scene.provider.issuer), REDIRECT, Date.now())).toBe('not_https')
    expect(scene.provider.asked).toEqual([])
  })

  it.each(['authorization_endpoint', 'token_endpoint', 'jwks_uri', 'userinfo_endpoint'])(
    'as %s of a discovery document is refused, and not asked for',
    async (name) => {
      // Ports of other services and plain http elsewhere are refused even where private addresses are allowed.
      for (const address of ['http://10.0.0.1/', 'http://127.0.0.1:22/', 'ftp://127.0.0.1/', 'no address']) {
        scene.provider.document = { [name]: address }
        expect(await open.test(client(scene.provider.issuer), REDIRECT, Date.now())).toBe('endpoint')
      }
      expect(new Set(scene.provider.asked)).toEqual(new Set(['/.well-known/openid-configuration']))
    },
  )
})

const redirectTo = (address: string) => (_: unknown, response: ServerResponse) => {
  response.writeHead(302, { location: address }).end()
}

describe('FD-36: a redirect', () => {
  it.each([
    ['/.well-known/openid-configuration', 'no_document'],
    ['/jwks', 'no_keys'],
    ['/token', 'malformed'],
  ])('of %s is not followed: %s', async (path, problem) => {
    scene.provider.instead.set(path, redirectTo(`${scene.provider.issuer}/inside`))
    const given = { ...client(scene.provider.issuer), clientSecret: scene.provider.clientSecret }
    expect(await open.test(given, REDIRECT, Date.now())).toBe(problem)
    expect(scene.provider.asked).not.toContain('/inside')
  })

  it('during a sign-in signs nobody in', async () => {
    await connect()
    for (const path of ['/token', '/jwks']) {
      scene.provider.instead.set(path, redirectTo(`${scene.provider.issuer}/inside`))
      const web = browser()
      const { status } = await signInAtProvider(scene.provider, web)
      expect([status, web.cookies.has(SESSION)]).toEqual([403, false])
      scene.provider.instead.clear()
    }
    expect(scene.provider.asked).not.toContain('/inside')
  })
})

describe('FD-37: a provider that', () => {
  const huge = (_: unknown, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = () => {
      while (!response.destroyed && response.write(' '.repeat(65_536)));
    }
    response.on('drain', more)
    more()
  }
  const silent = () => {}

  it.each(['/.well-known/openid-configuration', '/jwks', '/token'])('answers %s without end is left', async (path) => {
    scene.provider.instead.set(path, huge)
    const given = { ...client(scene.provider.issuer), clientSecret: scene.provider.clientSecret }
    expect(await open.test(given, REDIRECT, Date.now())).toBe('too_large')
  })

  it.each(['/.well-known/openid-configuration', '/token'])(
    'never answers %s is left after five seconds',
    async (path) => {
      scene.provider.instead.set(path, silent)
      const began = Date.now()
      const given = { ...client(scene.provider.issuer), clientSecret: scene.provider.clientSecret }
      expect(await open.test(given, REDIRECT, Date.now())).toBe('slow')
      expect(Date.now() - began).toBeLessThan(8_000)
    },
    20_000,
  )

  it('hangs delays no other account, and its own users see that it cannot be reached', async () => {
    await connect()
    scene.provider.instead.set('/token', silent)
    const web = browser()
    const waiting = signInAtProvider(scene.provider, web)
    const began = Date.now()
    expect((await scene.service.web().get('/sign-in')).status).toBe(200)
    expect(Date.now() - began).toBeLessThan(2_000)
    const { status } = await waiting
    expect([status, web.cookies.has(SESSION)]).toEqual([503, false])
  }, 20_000)
})

describe('FD-67: requests to a provider', () => {
  const askedFor = (path: string) => scene.provider.asked.filter((each) => each === path).length

  it('of anonymous returns with made-up codes are limited by network', async () => {
    await connect()
    const before = askedFor('/token')
    const give = async () => {
      const web = browser()
      const { location } = await web.send('GET', '/sign-in/provider')
      const state = new URL(location ?? 'none:').searchParams.get('state') ?? ''
      const query = new URLSearchParams({ code: 'made-up', state, iss: scene.provider.issuer })
      return (await web.send('GET', `/sign-in/provider/return?${query}`)).status
    }
    const statuses = await Promise.all(Array.from({ length: 60 }, give))
    expect(Map.groupBy(statuses, (status) => status).get(429)).toHaveLength(40)
    expect(askedFor('/token') - before).toBe(20)
  })

  it('are sent to one issuer four at a time, and another issuer does not wait', async () => {
    const held: ServerResponse[] = []
    scene.provider.instead.set('/held', (_, response) => void held.push(response))
    const to = limitPerIssuer(createOutbound({ allowPrivate: true, dnsServers: [] }))
    const ask = (issuer: string, path: string) =>
      to(issuer).fetch(
        scene.provider.issuer + path,
        { method: 'GET', headers: {}, body: null },
        { maxBytes: 1_000, timeoutMs: 60_000 },
      )
    const asked = Array.from({ length: 110 }, () => ask('https://slow.example', '/held'))
    await expect.poll(() => held.length, { timeout: 20_000 }).toBe(4)
    expect(await ask('https://other.example', '/jwks')).toMatchObject({ status: 200 })
    expect(held).toHaveLength(4)
    for (let answered = 0; answered < 104; answered += 1) {
      await expect.poll(() => held.length, { timeout: 20_000, interval: 1 }).toBeGreaterThan(answered)
      held[answered]?.end()
    }
    const outcomes = Map.groupBy(await Promise.all(asked), (fetched) =>
      'error' in fetched ? fetched.error : 'answered',
    )
    expect(Array.from(outcomes, ([outcome, { length }]) => [outcome, length])).toEqual([
      ['answered', 104],
      ['busy', 6],
    ])
  })

  it('of sign-ins that succeed are not limited', async () => {
    await connect()
    for (let time = 0; time < 30; time += 1) {
      expect((await signInAtProvider(scene.provider, browser())).status).toBe(303)
    }
  })

  it('of tests are limited by account', async () => {
    const { administrators } = await connect()
    const at = asHost(scene.account, 'optional')
    expect(administrators).toHaveLength(2)
    const before = askedFor('/token')
    const tests = await Promise.all(
      Array.from({ length: 60 }, () => testProviderSettings(scene.service.context, at, Date.now())),
    )
    const busy = tests.filter((test) => test.outcome === 'tested' && test.problem === 'busy')
    expect(busy.length).toBeGreaterThanOrEqual(50)
    expect(askedFor('/token') - before).toBeLessThanOrEqual(10)
  })
})

describe('back-channel logout', () => {
  const LOGOUT = '/sign-in/provider/logout'
  /** As the provider sends it: without cookies or an origin. */
  const post = async (token: string, at = scene.account) => {
    const headers = { origin: '', 'sec-fetch-site': '' }
    return (await browser(at).send('POST', LOGOUT, { logout_token: token }, headers)).status
  }
  const isIn = async (web: Web) => (await web.send('GET', '/applications')).status === 200
  const enter = async (claims: Claims = {}, at = scene.account) => {
    const web = browser(at)
    expect((await signInAtProvider(scene.provider, web, claims)).status).toBe(303)
    return web
  }

  it('a session id or method with a NUL, which PostgreSQL cannot store, is ignored', async () => {
    await connect()
    expect(await isIn(await enter({ sid: 'a\0b', amr: ['a\0b'] }))).toBe(true)
  })

  it('ends the sessions of a subject, or one session, within two seconds', async () => {
    await connect()
    const [phone, desk] = [await enter({ sid: 'phone' }), await enter({ sid: 'desk' })]
    const other = await enter({ sub: 'bob', email: 'bob@corp.example', sid: 'bob' })
    const began = Date.now()
    expect(await post(await scene.provider.logoutToken({ sub: undefined, sid: 'phone' }))).toBe(200)
    expect([await isIn(phone), await isIn(desk), await isIn(other)]).toEqual([false, true, true])
    expect(await post(await scene.provider.logoutToken())).toBe(200)
    expect([await isIn(desk), await isIn(other)]).toEqual([false, true])
    expect(Date.now() - began).toBeLessThan(2_000)
    const events = await scene.service.database.query<{ actor_id: string }>(
      "select actor_id from audit_events where account_id = $1 and kind = 'session.ended'",
      [scene.account.id],
    )
    expect(events.map(({ actor_id }) => actor_id)).toEqual(['identity provider', 'identity provider'])
  })

  it('FD-38: is forged: other key, not signed, other issuer, other audience, no event, a nonce, nobody named', async () => {
    await connect()
    const web = await enter()
    const stranger = await makeProviderKey()
    const claims = {
      iss: scene.provider.issuer,
      aud: scene.provider.clientId,
      iat: scene.provider.now(),
      jti: randomUUID(),
      sub: ADA.sub,
    }
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const forged = [
      '',
      'no.token.atall',
      await signWith(stranger, { ...claims, events }),
      await signWith({ ...stranger, kid: scene.provider.key.kid }, { ...claims, events }),
      await scene.provider.logoutToken({ iss: 'https://other.example' }),
      await scene.provider.logoutToken({ aud: 'another-client' }),
      await scene.provider.logoutToken({ events: {} }),
      await scene.provider.logoutToken({ events: undefined }),
      await scene.provider.logoutToken({ nonce: 'a-nonce' }),
      await scene.provider.logoutToken({ sub: undefined }),
      await scene.provider.logoutToken({ jti: undefined }),
      await scene.provider.logoutToken({ sub: 'a\0b' }),
      await scene.provider.logoutToken({ sid: 'a\0b' }),
      await scene.provider.logoutToken({ iat: undefined }),
      await scene.provider.logoutToken({}, 'at+jwt'),
      await scene.provider.logoutToken({}, 'logout'),
      // An ID token of the same provider for the same client.
      await signWith(scene.provider.key, { ...claims, nonce: 'n', exp: scene.provider.now() + 300 }),
    ]
    for (const token of forged) expect([token, await post(token)]).toEqual([token, 400])
    expect(await isIn(web)).toBe(true)
  })

  it.each(['', 'JWT', 'logout+jwt', 'application/logout+jwt'])('is of the type "%s"', async (typ) => {
    await connect()
    const web = await enter()
    expect(await post(await scene.provider.logoutToken({}, typ))).toBe(200)
    expect(await isIn(web)).toBe(false)
  })

  it('FD-39: is used again, or is old', async () => {
    await connect()
    const token = await scene.provider.logoutToken()
    expect([await post(token), await post(token)]).toEqual([200, 400])
    const web = await enter()
    const old = { iat: scene.provider.now() - 200, exp: scene.provider.now() + 300 }
    expect(await post(await scene.provider.logoutToken(old))).toBe(400)
    expect(await post(await scene.provider.logoutToken({ exp: scene.provider.now() - 60 }))).toBe(400)
    expect(await isIn(web)).toBe(true)
  })

  it('FD-40: ends nobody’s session at another account, nor of users who are not the provider’s', async () => {
    const other = await makeAccount(scene.service.context.db)
    const { administrators } = await connect()
    await connect({}, other)
    const [here, there] = [await enter({ sid: 'one' }), await enter({ sid: 'one' }, other)]
    const own = await signInAs(scene.service, administrators[0], { account: scene.account })
    expect(await post(await scene.provider.logoutToken({ sid: 'one' }), other)).toBe(200)
    expect([await isIn(here), await isIn(there), await isIn(own)]).toEqual([true, false, true])
    expect(await post(await scene.provider.logoutToken({ sub: administrators[0].id }))).toBe(200)
    expect(await isIn(own)).toBe(true)
    const none = await makeAccount(scene.service.context.db)
    expect(await post(await scene.provider.logoutToken(), none)).toBe(404)
  })

  it('FD-40: of one client at two accounts ends the sessions of both: neither spends the token of the other', async () => {
    const other = await makeAccount(scene.service.context.db)
    await connect()
    await connect({}, other)
    const [here, there] = [await enter(), await enter({}, other)]
    const token = await scene.provider.logoutToken()
    expect([await post(token, other), await post(token)]).toEqual([200, 200])
    expect([await isIn(here), await isIn(there)]).toEqual([false, false])
    expect([await post(token, other), await post(token)], 'used again').toEqual([400, 400])
  })

  it('FD-40: a provider that was replaced ends nothing', async () => {
    await connect()
    const former = await scene.provider.logoutToken()
    const successor = await startProvider()
    await connectProvider(scene.service, successor, {}, scene.account)
    const web = browser()
    expect((await signInAtProvider(successor, web)).status).toBe(303)
    expect(await post(former)).toBe(400)
    expect(await isIn(web)).toBe(true)
    await successor.stop()
  })
})
