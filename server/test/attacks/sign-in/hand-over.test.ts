/** FD-01 … FD-20 and FD-63: what somebody may try with the statements by which the host service hands a sign-in over. */
import { base64url, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { disablePerson } from '../../../src/flows/accounts/people.ts'
import { linkAddress, requestRecovery } from '../../../src/flows/sign-in/links.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { createId } from '../../../src/secrets/random.ts'
import { signChallenge } from '../../../src/secrets/web-texts.ts'
import { insertLink } from '../../../src/store/sign-in/links.ts'
import {
  claimsFor,
  makeHost,
  makeHostKey,
  readSignInRequest,
  returnPath,
  STATEMENT_TYPE,
  signInAtHost,
  signStatement,
  type TestHost,
} from '../../rig/host-service.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { makeManagementKey, manageClient } from '../../rig/manage.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { textOf, type Web } from '../../rig/web.ts'
import { mailsOf } from '../../rig/witness.ts'

let host: TestHost
let service: TestService
beforeAll(async () => {
  host = await makeHost()
  const creating = { SIGN_IN_CREATES: 'users', OPERATOR_ACCOUNT: 'operators' }
  service = await startTestService({ ...host.environment, ...creating, LOG_LEVEL: 'silent' }, { clock: true })
  await makeAccount(service.context.db, { slug: 'operators' })
})
afterAll(async () => {
  await service.stop()
  host.remove()
})

const ADA = { sub: 'host-user-17', email: 'ada@host.example' }

const begin = async (web: Web, from = '/sign-in') => readSignInRequest((await web.send('GET', from)).location)

/** Sends the statement back, and returns the status with whether a session started. */
async function bring(web: Web, path: string): Promise<[number, boolean]> {
  const { status } = await web.send('GET', path)
  return [status, web.cookies.has(SESSION)]
}

const REFUSED = [403, false]
const SIGNED_IN = [303, true]

/** A good statement with some claims changed; `now` of the service in seconds. */
async function tryWith(change: (now: number) => Record<string, unknown>): Promise<[number, boolean]> {
  const web = service.web()
  const request = await begin(web)
  const claims = await claimsFor(service, request)
  const statement = await signStatement(host.key, { ...claims, ...change(claims.iat) })
  return bring(web, returnPath(request, statement))
}

it('a good statement signs in', async () => {
  expect(await tryWith(() => ({}))).toEqual(SIGNED_IN)
})

it('a statement with a NUL, which PostgreSQL cannot store, is refused', async () => {
  for (const claim of [{ sub: 'a\0b' }, { email: 'a\0b@host.example' }, { name: 'A\0b' }, { roles: ['a\0b'] }]) {
    expect(await tryWith(() => claim)).toEqual(REFUSED)
  }
})

describe('the time of a statement', () => {
  it('FD-01: is over', async () => {
    expect(await tryWith((now) => ({ iat: now - 70, exp: now - 10, auth_time: now - 70 }))).toEqual(REFUSED)
    expect(await tryWith((now) => ({ iat: now - 70, exp: now - 10 + 60, auth_time: now - 70 }))).toEqual(REFUSED)
    expect(await tryWith(() => ({ exp: undefined }))).toEqual(REFUSED)
    expect(await tryWith((now) => ({ iat: now - 58, exp: now + 2, auth_time: now - 58 }))).toEqual(SIGNED_IN)
  })

  it('FD-02: has not come', async () => {
    expect(await tryWith((now) => ({ iat: now + 20, exp: now + 60 }))).toEqual(REFUSED)
    expect(await tryWith((now) => ({ nbf: now + 20 }))).toEqual(REFUSED)
    expect(await tryWith((now) => ({ auth_time: now + 20 }))).toEqual(REFUSED)
    expect(await tryWith(() => ({ iat: undefined }))).toEqual(REFUSED)
  })

  it('FD-03: is longer than a minute', async () => {
    expect(await tryWith((now) => ({ exp: now + 61 }))).toEqual(REFUSED)
    expect(await tryWith((now) => ({ exp: now + 86_400 }))).toEqual(REFUSED)
  })
})

describe('a statement that was good', () => {
  it('FD-04: is used again', async () => {
    const web = service.web()
    const request = await begin(web)
    const path = returnPath(request, await signStatement(host.key, await claimsFor(service, request)))
    expect(await bring(web, path)).toEqual(SIGNED_IN)
    web.cookies.delete(SESSION)
    expect(await bring(web, path)).toEqual(REFUSED)
    // Another statement with the same challenge is no better.
    const again = await signStatement(host.key, { ...(await claimsFor(service, request)), jti: 'another' })
    expect(await bring(web, returnPath(request, again))).toEqual(REFUSED)
  })

  it('FD-18: is used by many requests at once, and one session starts', async () => {
    const web = service.web()
    const request = await begin(web)
    const path = returnPath(request, await signStatement(host.key, await claimsFor(service, request)))
    const twin = () => {
      const other = service.web()
      for (const [name, value] of web.cookies) other.cookies.set(name, value)
      return other
    }
    const answers = await Promise.all(Array.from({ length: 12 }, () => bring(twin(), path)))
    expect(answers.filter(([, session]) => session)).toHaveLength(1)
  })

  it('FD-05: is used at another account, whose user has the same id at the host service', async () => {
    const other = await makeAccount(service.context.db)
    expect((await signInAtHost(service, host, service.web({}, other.slug), { claims: ADA })).status).toBe(303)
    const [here, there] = [service.web(), service.web({}, other.slug)]
    const request = await begin(here)
    const claims = await claimsFor(service, request)
    // The same browser at both accounts.
    for (const [name, value] of here.cookies) there.cookies.set(name, value)
    const at = (changed: object) => signStatement(host.key, { ...claims, ...changed })
    expect(await bring(there, returnPath(request, await at({})))).toEqual(REFUSED)
    expect(await bring(there, returnPath(request, await at({ aud: there.origin })))).toEqual(REFUSED)
    expect(await bring(there, returnPath(request, await at({ account: other.slug })))).toEqual(REFUSED)
    const both = { aud: there.origin, account: other.slug }
    expect(await bring(there, returnPath(request, await at(both)))).toEqual(REFUSED)
    const third = service.web({}, other.slug)
    const challenge = { nonce: (await begin(third)).challenge, aud: third.origin }
    expect(await bring(third, returnPath(request, await at(challenge)))).toEqual(REFUSED)
  })

  it('FD-06: is put into another browser', async () => {
    const [attacker, victim] = [service.web(), service.web()]
    await begin(victim)
    const request = await begin(attacker)
    const path = returnPath(request, await signStatement(host.key, await claimsFor(service, request)))
    expect(await bring(victim, path)).toEqual(REFUSED)
    expect(await bring(service.web(), path)).toEqual(REFUSED)
    expect(await bring(attacker, path)).toEqual(SIGNED_IN)
  })
})

describe('for whom and by whom', () => {
  it('FD-07: the audience is somebody else', async () => {
    expect(await tryWith(() => ({ aud: 'http://elsewhere.example' }))).toEqual(REFUSED)
    expect(await tryWith(() => ({ aud: service.config.publicUrl }))).toEqual(REFUSED)
    expect(await tryWith(() => ({ aud: undefined }))).toEqual(REFUSED)
    expect(await tryWith(() => ({ aud: [service.web().origin, 'http://elsewhere.example'] }))).toEqual(REFUSED)
  })

  it('FD-08: the issuer is somebody else', async () => {
    expect(await tryWith(() => ({ iss: 'http://other.example' }))).toEqual(REFUSED)
    expect(await tryWith(() => ({ iss: 'http://host.example/' }))).toEqual(REFUSED)
    expect(await tryWith(() => ({ iss: undefined }))).toEqual(REFUSED)
  })

  it('FD-09: the key is unknown', async () => {
    const web = service.web()
    const request = await begin(web)
    const claims = await claimsFor(service, request)
    const other = await makeHostKey()
    expect(await bring(web, returnPath(request, await signStatement(other, claims)))).toEqual(REFUSED)
    const named = { ...other, kid: host.key.kid }
    expect(await bring(web, returnPath(request, await signStatement(named, claims)))).toEqual(REFUSED)
    const embedded = await new SignJWT(claims)
      .setProtectedHeader({
        alg: 'EdDSA',
        kid: host.key.kid,
        typ: STATEMENT_TYPE,
        jwk: other.jwk,
        jku: 'http://127.0.0.1:9/keys',
      })
      .sign(other.privateKey)
    expect(await bring(web, returnPath(request, embedded))).toEqual(REFUSED)
    expect(await bring(web, returnPath(request, await signStatement(host.key, claims)))).toEqual(SIGNED_IN)
  })

  it('FD-10: there is no signature, or one with the public key as a secret', async () => {
    const web = service.web()
    const request = await begin(web)
    const claims = await claimsFor(service, request)
    expect(await bring(web, returnPath(request, new UnsecuredJWT(claims).encode()))).toEqual(REFUSED)
    const good = await signStatement(host.key, claims)
    const [header, body] = good.split('.')
    expect(await bring(web, returnPath(request, `${header}.${body}.`))).toEqual(REFUSED)
    const secrets = [base64url.decode(String(host.key.jwk.x)), new TextEncoder().encode(JSON.stringify(host.key.jwk))]
    for (const secret of secrets) {
      const { kid } = host.key
      const hmac = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid, typ: STATEMENT_TYPE }).sign(secret)
      expect(await bring(web, returnPath(request, hmac))).toEqual(REFUSED)
    }
    expect(await bring(web, returnPath(request, good))).toEqual(SIGNED_IN)
  })

  it('FD-11: the challenge is another, or none', async () => {
    const mark = 'a-mark-of-no-browser__'
    const { keys } = service.config
    const foreign = signChallenge(keys, { at: Date.now(), maxAgeSeconds: null }, service.account.slug, mark)
    for (const nonce of [undefined, '', 'made up', foreign, 17]) {
      expect(await tryWith(() => ({ nonce }))).toEqual(REFUSED)
    }
    const web = service.web()
    const request = await begin(web)
    const changed = `${request.challenge.slice(0, -1)}${request.challenge.endsWith('A') ? 'B' : 'A'}`
    const claims = { ...(await claimsFor(service, request)), nonce: changed }
    expect(await bring(web, returnPath(request, await signStatement(host.key, claims)))).toEqual(REFUSED)
    await service.database.advance(16 * 60_000)
    const late = await signStatement(host.key, await claimsFor(service, request))
    expect(await bring(web, returnPath(request, late))).toEqual(REFUSED)
  })
})

describe('which account, and which user', () => {
  it('FD-12: the operators’ account is not opened', async () => {
    const web = service.web({}, 'operators')
    const page = await web.send('GET', '/sign-in')
    expect([page.status, page.location]).toEqual([200, null])
    const elsewhere = await begin(service.web())
    const operators = { ...elsewhere, account: 'operators', returnTo: new URL(`${web.origin}/sign-in/return`) }
    const mark = 'a-mark-of-this-browser'
    web.cookies.set('__Host-dialog', mark)
    const { keys } = service.config
    const [row] = await service.database.query<{ now: Date }>('select now()')
    const challenge = signChallenge(keys, { at: row?.now.getTime() ?? 0, maxAgeSeconds: null }, 'operators', mark)
    const claims = await claimsFor(service, { ...operators, challenge })
    expect(await bring(web, returnPath(operators, await signStatement(host.key, claims)))).toEqual([404, false])
    const users = await service.database.query(
      `select from users u join accounts a on a.id = u.account_id where a.slug = 'operators'`,
    )
    expect(users).toHaveLength(0)
  })

  it('FD-13: a disabled user does not come back, and an old session ends', async () => {
    const claims = { sub: 'to-be-disabled', email: 'disabled@host.example' }
    const web = service.web()
    await signInAtHost(service, host, web, { claims })
    const [user] = await service.database.query<{ id: string }>(`select id from users where external_id = $1`, [
      claims.sub,
    ])
    const administrator = await makeUser(service.context.db, service.account.slug)
    expect(await disablePerson(service.context, administrator.id, user?.id ?? '')).toEqual({ outcome: 'disabled' })
    expect((await web.send('GET', '/')).status).toBe(303)
    const page = await signInAtHost(service, host, service.web(), { claims })
    expect([page.status, textOf(page.text)]).toEqual([403, expect.stringContaining('is disabled')])
  })

  it('FD-63: a statement that was kept back does not restore what a management key has taken away', async () => {
    const claims = { sub: 'less-now', email: 'less@host.example', roles: [], permissions: ['orders:read'] }
    await signInAtHost(service, host, service.web(), { claims })
    const web = service.web()
    const request = await begin(web)
    const kept = await signStatement(host.key, { ...(await claimsFor(service, request)), ...claims })
    const manage = manageClient(service.address, (await makeManagementKey(service)).key)
    const users = `/accounts/${service.account.slug}/users`
    const { body } = await manage('GET', `${users}?external_id=${claims.sub}`)
    const user = `${users}/${body.items[0].id}`
    expect((await manage('PATCH', user, { roles: [], permissions: [] })).status).toBe(200)
    expect(await bring(web, returnPath(request, kept))).toEqual(REFUSED)
    expect((await manage('GET', user)).body.permissions).toEqual([])
    await service.database.advance(6_000)
    expect((await signInAtHost(service, host, service.web(), { claims })).status).toBe(303)
    expect((await manage('GET', user)).body.permissions).toEqual(['orders:read'])
  })

  it('FD-14: an account that does not exist does not appear', async () => {
    expect((await service.web({}, 'nowhere').send('GET', '/sign-in')).status).toBe(404)
    const request = await begin(service.web())
    const claims = {
      ...(await claimsFor(service, request)),
      account: 'nowhere',
      aud: service.web({}, 'nowhere').origin,
    }
    const path = returnPath(request, await signStatement(host.key, claims))
    expect(await bring(service.web({}, 'nowhere'), path)).toEqual([404, false])
    expect(await service.database.query(`select from accounts where slug = 'nowhere'`)).toHaveLength(0)
  })

  it('FD-15: the address of another user opens nothing', async () => {
    const own = await makeUser(service.context.db, service.account.slug)
    const page = await signInAtHost(service, host, service.web(), { claims: { sub: 'x', email: own.email } })
    expect([page.status, textOf(page.text)]).toEqual([403, expect.stringContaining('already has your e-mail address')])
    // Nor does changing to it later.
    const claims = { sub: 'changing', email: 'changing@host.example' }
    expect((await signInAtHost(service, host, service.web(), { claims })).status).toBe(303)
    const changed = { ...claims, email: own.email.toUpperCase() }
    expect((await signInAtHost(service, host, service.web(), { claims: changed })).status).toBe(403)
    const users = await service.database.query<{ origin: string }>('select origin from users where email = $1', [
      own.email,
    ])
    expect(users).toEqual([{ origin: 'own' }])
  })

  it('FD-15: the same address in another account is another user', async () => {
    const other = await makeAccount(service.context.db)
    const claims = { sub: 'two accounts', email: 'two@host.example' }
    await signInAtHost(service, host, service.web(), { claims })
    await signInAtHost(service, host, service.web({}, other.slug), { claims: { ...claims, roles: [] } })
    const users = await service.database.query<{ roles: string }>(
      `select (select count(*)::text from user_roles r where r.user_id = u.id) as roles from users u
       where external_id = $1 order by 1`,
      [claims.sub],
    )
    expect(users).toEqual([{ roles: '0' }, { roles: '1' }])
  })
})

describe('the browser', () => {
  it('FD-16: is sent to no other site', async () => {
    for (const next of ['https://evil.example/', '//evil.example', '/\\evil.example', 'javascript:alert(1)']) {
      const web = service.web()
      const request = await begin(web, `/sign-in?next=${encodeURIComponent(next)}`)
      expect(request.returnTo.origin).toBe(web.origin)
      const back = new URL(request.returnTo)
      back.searchParams.set('next', next)
      const statement = await signStatement(host.key, await claimsFor(service, request))
      const page = await web.send('GET', returnPath({ ...request, returnTo: back }, statement))
      expect([page.status, page.location]).toEqual([303, '/'])
    }
  })

  it('FD-17: does not keep the session that it had', async () => {
    const web = service.web()
    await signInAtHost(service, host, web)
    const planted = web.cookies.get(SESSION) ?? ''
    const [, address = ''] = /href="(http:\/\/host[^"]*)"/.exec((await web.get('/confirm')).text) ?? []
    const again = readSignInRequest(address.replaceAll('&amp;', '&'))
    await web.send('GET', returnPath(again, await signStatement(host.key, await claimsFor(service, again))))
    expect(web.cookies.get(SESSION)).not.toBe(planted)
    const thief = service.web()
    thief.cookies.set(SESSION, planted)
    expect((await thief.send('GET', '/')).location).toBe('/sign-in?next=%2F')
  })

  it('FD-19: does not confirm with an old sign-in', async () => {
    const web = service.web()
    await signInAtHost(service, host, web)
    const confirm = async (age: number) => {
      const [, address = ''] = /href="(http:\/\/host[^"]*)"/.exec((await web.get('/confirm')).text) ?? []
      const request = readSignInRequest(address.replaceAll('&amp;', '&'))
      const claims = await claimsFor(service, request)
      const statement = await signStatement(host.key, { ...claims, auth_time: claims.iat - age })
      return web.send('GET', returnPath(request, statement))
    }
    const page = await confirm(460)
    expect([page.status, textOf(page.text)]).toEqual([403, expect.stringContaining('did not ask you to sign in again')])
    expect((await confirm(440)).status).toBe(303)
  })

  it('FD-19: is asked again although it has just signed in, if the sign-in there is old', async () => {
    const web = service.web()
    const request = await begin(web)
    const claims = await claimsFor(service, request)
    const statement = await signStatement(host.key, { ...claims, auth_time: claims.iat - 3_600 })
    await web.send('GET', returnPath(request, statement))
    expect((await web.send('GET', '/security')).location).toBe('/confirm?next=%2Fsecurity')
  })
})

it('FD-20: a user of the host service gets in by nothing here', async () => {
  const claims = { sub: 'only there', email: 'only.there@host.example' }
  await signInAtHost(service, host, service.web(), { claims })
  const [user] = await service.database.query<{ id: string; email: string }>(
    'select id, email from users where external_id = $1',
    [claims.sub],
  )
  const known = { id: user?.id ?? '', email: claims.email }
  const { context, account } = service
  await requestRecovery(
    context,
    { ...account, name: '', colour: null, logoVersion: null, provider: 'off' as const, issuer: null },
    claims.email,
    'en',
  )
  expect(await mailsOf(service, known)).toEqual([])
  const web = service.web()
  expect((await web.send('POST', '/sign-in', { email: claims.email, password: '' })).status).toBe(404)
  const password = service.database.query('update users set password_digest = $2 where id = $1', [known.id, 'digest'])
  await expect(password).rejects.toThrow('users_elsewhere_has_no_password')
  const id = crypto.randomUUID()
  await context.db.transaction((tx) =>
    insertLink(tx, {
      id,
      kind: 'recovery',
      accountId: account.id,
      userId: known.id,
      grantId: null,
      lifetimeMs: 60_000,
    }),
  )
  const link = new URL(linkAddress(context, account.slug, id))
  expect((await web.send('GET', `${link.pathname}${link.search}`)).status).toBe(404)
  const chosen = { link: link.searchParams.get('token') ?? '', password: createId('usr'), again: createId('usr') }
  expect((await web.send('POST', '/link', chosen)).status).toBe(404)
})
