/** FD-21 … FD-34: what somebody may try with the answers of an account's identity provider. */
import { base64url, exportSPKI, SignJWT, UnsecuredJWT } from 'jose'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { PROVIDER, SESSION } from '../../../src/http/web/cookies.ts'
import {
  ADA,
  asHost,
  type Claims,
  makeProviderKey,
  signInAtProvider,
  signWith,
  startProvider,
} from '../../rig/identity-provider.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { useProviderScene } from '../../rig/provider-scene.ts'
import { signInAs } from '../../rig/signed-in.ts'
import type { Web } from '../../rig/web.ts'

/** How far PostgreSQL's clock was moved. */
let ahead = 0
const scene = useProviderScene({ OPERATOR_ACCOUNT: 'operators' })
beforeAll(async () => {
  await makeAccount(scene.service.context.db, { slug: 'operators' })
})
beforeEach(() => {
  scene.provider.ahead = ahead
})

const { connect, browser } = scene

const REFUSED = [403, false]
const SIGNED_IN = [303, true]

async function bring(web: Web, path: string): Promise<[number, boolean]> {
  const { status } = await web.send('GET', path)
  return [status, web.cookies.has(SESSION)]
}

/** Signs in with another ID token than the provider would have made. */
async function tryToken(sign: (claims: Claims) => Promise<string>): Promise<[number, boolean]> {
  scene.provider.sign = sign
  const web = browser()
  const { status } = await signInAtProvider(scene.provider, web)
  return [status, web.cookies.has(SESSION)]
}

/** Signs in with changed claims; `now` in seconds. */
const tryWith = (change: (now: number) => Claims) =>
  tryToken((claims) => signWith(scene.provider.key, { ...claims, ...change(scene.provider.now()) }))

it('a good answer signs in', async () => {
  await connect()
  expect(await tryWith(() => ({}))).toEqual(SIGNED_IN)
})

describe('an answer of another sign-in', () => {
  it('FD-21: the parameter iss names another provider, or is missing although promised', async () => {
    await connect()
    for (const iss of ['https://other.example', `${scene.provider.issuer}/`, '']) {
      const web = browser()
      const back = scene.provider.authorize((await web.send('GET', '/sign-in/provider')).location)
      const path = back.replace(/([?&])iss=[^&]*/, iss === '' ? '$1x=' : `$1iss=${encodeURIComponent(iss)}`)
      expect(await bring(web, path)).toEqual(REFUSED)
    }
  })

  it('FD-21: the code of an attacker’s provider is sent to the account’s own, and is worth nothing', async () => {
    await connect()
    const attacker = await startProvider()
    const web = browser()
    const { location } = await web.send('GET', '/sign-in/provider')
    const stolen = attacker
      .authorize(location)
      .replace(encodeURIComponent(attacker.issuer), encodeURIComponent(scene.provider.issuer))
    expect(await bring(web, stolen)).toEqual(REFUSED)
    expect(attacker.asked).toEqual([])
    await attacker.stop()
  })

  it('FD-22: an ID token of another sign-in is handed in again', async () => {
    await connect()
    let first = ''
    expect(
      await tryToken(async (claims) => {
        first = await signWith(scene.provider.key, claims)
        return first
      }),
    ).toEqual(SIGNED_IN)
    expect(await tryToken(async () => first)).toEqual(REFUSED)
  })

  it('FD-22: an ID token for another client of the same provider', async () => {
    await connect()
    expect(await tryWith(() => ({ aud: 'another-client' }))).toEqual(REFUSED)
  })

  it('FD-23: the issuer or the client is changed while the user is away', async () => {
    const { given } = await connect()
    const other = await startProvider()
    // A provider that does not say who answers: nothing else tells the two apart.
    other.document = { authorization_response_iss_parameter_supported: false }
    const web = browser()
    const path = scene.provider.authorize((await web.send('GET', '/sign-in/provider')).location)
    await connect({ ...given, issuer: other.issuer, breakGlass: [] })
    const before = [...other.asked]
    expect(await bring(web, path.replace(/&iss=[^&]*/, ''))).toEqual(REFUSED)
    // The new provider does not learn the code of the old one.
    expect(other.asked).toEqual(before)
    await other.stop()
  })

  it('FD-23: an ID token names another issuer than the provider’s', async () => {
    await connect()
    expect(await tryWith(() => ({ iss: 'https://other.example' }))).toEqual(REFUSED)
    expect(await tryWith(() => ({ iss: `${scene.provider.issuer}/` }))).toEqual(REFUSED)
    expect(await tryWith(() => ({ iss: undefined }))).toEqual(REFUSED)
  })
})

describe('a state', () => {
  it('FD-28: is used again, also with a new code', async () => {
    await connect()
    const web = browser()
    const { location } = await web.send('GET', '/sign-in/provider')
    const cookie = web.cookies.get(PROVIDER) ?? ''
    expect(await bring(web, scene.provider.authorize(location))).toEqual(SIGNED_IN)
    expect(web.cookies.has(PROVIDER)).toBe(false)
    web.cookies.delete(SESSION)
    web.cookies.set(PROVIDER, cookie)
    expect(await bring(web, scene.provider.authorize(location))).toEqual(REFUSED)
  })

  it('FD-28: is used by many requests at once, and one session starts', async () => {
    await connect()
    const web = browser()
    const { location } = await web.send('GET', '/sign-in/provider')
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => {
        const twin = browser()
        for (const [name, value] of web.cookies) twin.cookies.set(name, value)
        return bring(twin, scene.provider.authorize(location))
      }),
    )
    expect(answers.filter(([, session]) => session)).toHaveLength(1)
  })

  it('FD-28: expires after ten minutes', async () => {
    await connect()
    const web = browser()
    const { location } = await web.send('GET', '/sign-in/provider')
    ahead += 10 * 60_000 + 1_000
    await scene.service.database.advance(10 * 60_000 + 1_000)
    scene.provider.ahead = ahead
    expect(await bring(web, scene.provider.authorize(location))).toEqual(REFUSED)
  })

  it('FD-29: is put into another browser, whether or not it began a sign-in of its own', async () => {
    await connect()
    const [attacker, victim, idle] = [browser(), browser(), browser()]
    await victim.send('GET', '/sign-in/provider')
    const path = scene.provider.authorize((await attacker.send('GET', '/sign-in/provider')).location)
    expect(await bring(victim, path)).toEqual(REFUSED)
    expect(await bring(idle, path)).toEqual(REFUSED)
    // The cookie alone, without the mark of the browser it was made for.
    idle.cookies.set(PROVIDER, attacker.cookies.get(PROVIDER) ?? '')
    expect(await bring(idle, path)).toEqual(REFUSED)
    expect(await bring(attacker, path)).toEqual(SIGNED_IN)
  })

  it('FD-29: is used at another account with the same provider', async () => {
    const other = await makeAccount(scene.service.context.db)
    await connect()
    await connect({}, other)
    const [here, there] = [browser(), browser(other)]
    const path = scene.provider.authorize((await here.send('GET', '/sign-in/provider')).location)
    for (const [name, value] of here.cookies) there.cookies.set(name, value)
    expect(await bring(there, path)).toEqual(REFUSED)
  })
})

describe('an ID token', () => {
  it('FD-30: is not signed', async () => {
    await connect()
    expect(await tryToken(async (claims) => new UnsecuredJWT(claims).encode())).toEqual(REFUSED)
  })

  it('FD-30: is signed with HS256: the public key, the key set or the client secret as a shared secret', async () => {
    await connect()
    const { publicKey, jwk, kid } = scene.provider.key
    const secrets = [await exportSPKI(publicKey), JSON.stringify(jwk), scene.provider.clientSecret]
    for (const secret of secrets) {
      const sign = (claims: Claims) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid }).sign(new TextEncoder().encode(secret))
      expect(await tryToken(sign)).toEqual(REFUSED)
    }
  })

  it('FD-31: is for another audience, or for several without naming us as authorized party, or names another', async () => {
    await connect()
    const us = scene.provider.clientId
    const both = [us, 'another-client']
    for (const aud of [undefined, '', [], 'another-client', ['another-client'], `${us} another-client`, both]) {
      expect([aud, ...(await tryWith(() => ({ aud })))]).toEqual([aud, ...REFUSED])
    }
    for (const aud of [us, [us], both]) {
      for (const azp of ['another-client', '', [us]]) {
        expect([aud, azp, ...(await tryWith(() => ({ aud, azp })))]).toEqual([aud, azp, ...REFUSED])
      }
      expect([aud, ...(await tryWith(() => ({ aud, azp: us })))]).toEqual([aud, ...SIGNED_IN])
    }
  })

  it('FD-32: has expired, has no expiry, or is not valid yet', async () => {
    await connect()
    expect(await tryWith((now) => ({ iat: now - 400, exp: now - 100 }))).toEqual(REFUSED)
    expect(await tryWith(() => ({ exp: undefined }))).toEqual(REFUSED)
    expect(await tryWith(() => ({ iat: undefined }))).toEqual(REFUSED)
    expect(await tryWith((now) => ({ nbf: now + 60 }))).toEqual(REFUSED)
  })

  it('FD-32: comes from a sign-in that is older than was asked for, or does not say when that was', async () => {
    await connect()
    for (const auth_time of [scene.provider.now() - 86_400, undefined]) {
      const web = browser()
      const { status } = await signInAtProvider(scene.provider, web, { auth_time }, '/sign-in/provider?recent=1')
      expect([status, web.cookies.has(SESSION)]).toEqual(REFUSED)
    }
    const web = browser()
    const { status } = await signInAtProvider(scene.provider, web, {}, '/sign-in/provider?recent=1')
    expect([status, web.cookies.has(SESSION)], 'a recent one').toEqual(SIGNED_IN)
  })

  it('FD-33: has no nonce, or another one', async () => {
    await connect()
    expect(await tryWith(() => ({ nonce: undefined }))).toEqual(REFUSED)
    expect(await tryWith(() => ({ nonce: 'another' }))).toEqual(REFUSED)
  })

  it('FD-34: is signed by an unknown key, or by another under the name of a known one, or changed afterwards', async () => {
    await connect()
    const other = await makeProviderKey()
    expect(await tryToken((claims) => signWith(other, claims))).toEqual(REFUSED)
    expect(await tryToken((claims) => signWith({ ...other, kid: scene.provider.key.kid }, claims))).toEqual(REFUSED)
    const changed = await tryToken(async (claims) => {
      const [header, , signature] = (await signWith(scene.provider.key, claims)).split('.')
      return [header, base64url.encode(JSON.stringify({ ...claims, sub: 'boss' })), signature].join('.')
    })
    expect(changed).toEqual(REFUSED)
  })
})

describe('whose provider it is', () => {
  it('FD-26: a session by the provider of one account is nothing at another', async () => {
    const other = await makeAccount(scene.service.context.db)
    await connect()
    await connect({}, other)
    const web = browser()
    expect((await signInAtProvider(scene.provider, web)).status).toBe(303)
    const there = browser(other)
    there.cookies.set(SESSION, web.cookies.get(SESSION) ?? '')
    expect((await there.send('GET', '/applications')).location).toContain('/sign-in')
    // The same person signs in there on their own, and is another user.
    expect((await signInAtProvider(scene.provider, there)).status).toBe(303)
    const users = await scene.service.database.query(
      'select id from users where subject = $1 and account_id = any($2)',
      [ADA.sub, [scene.account.id, other.id]],
    )
    expect(users).toHaveLength(2)
  })

  it('FD-26: an account without a provider is not opened by another’s', async () => {
    const other = await makeAccount(scene.service.context.db)
    await connect()
    expect((await browser(other).send('GET', '/sign-in/provider')).status).toBe(404)
    expect((await browser(other).send('GET', '/sign-in/provider/return?code=a&state=b')).status).toBe(404)
  })

  it('FD-27: the operators’ account has no provider, even if a row says so', async () => {
    const { db } = scene.service.context
    const [row] = await scene.service.database.query<{ id: string }>("select id from accounts where slug = 'operators'")
    const operators = { id: row?.id ?? '', slug: 'operators' }
    await expect(connect({}, operators)).rejects.toThrow('not_found')
    await connect()
    await scene.service.database.query(
      `insert into identity_providers (account_id, state, issuer, client_id, client_secret, admission)
       select $1, 'optional', issuer, client_id, client_secret, 'invited' from identity_providers where account_id = $2`,
      [operators.id, scene.account.id],
    )
    const web = browser(operators)
    for (const path of ['/sign-in/provider', '/sign-in/provider/return?code=a&state=b']) {
      expect((await web.send('GET', path)).status).toBe(404)
    }
    expect((await web.get('/sign-in')).text).not.toContain('/sign-in/provider')
    const operator = await makeUser(db, 'operators')
    const signedIn = await signInAs(scene.service, operator, { account: operators })
    expect((await signedIn.send('GET', '/account/provider')).status).toBe(404)
    expect(asHost(operators).provider).toBe('off')
  })
})
