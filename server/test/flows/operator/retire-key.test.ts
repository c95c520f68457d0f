/**
 * docs/operations/keys.md:
 * what is in use moves to the key that signs, the rest is counted, and a retired key opens nothing.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../../tools/free-port.ts'
import { closeContext, createContext, type RunningService, startService } from '../../../src/app.ts'
import { disablePerson, enablePerson, readPerson } from '../../../src/flows/accounts/people.ts'
import type { Context } from '../../../src/flows/context.ts'
import { tokenSetOf } from '../../../src/flows/grants/issue.ts'
import { announceRetirement, countUse, retireKey } from '../../../src/flows/operator/retire-key.ts'
import { issueRecoveryCodes } from '../../../src/flows/sign-in/recovery-codes.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { authenticatorSecret } from '../../../src/secrets/authenticator.ts'
import { makeAccessKey } from '../../../src/secrets/credentials.ts'
import { createKey } from '../../../src/secrets/keyset.ts'
import { signSession } from '../../../src/secrets/web-texts.ts'
import { type KeyUse, markSigning } from '../../../src/store/operator/signing-keys.ts'
import { askVerify, placeIssuedGrant } from '../../races/issued-grants.ts'
import { postNative } from '../../rig/credentials.ts'
import { Device } from '../../rig/device.ts'
import { makeAuthenticator } from '../../rig/factors/second-factor.ts'
import { type MadeUser, makeApplication, makeConfig, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { startSession } from '../../rig/signed-in.ts'
import { switchTestModeOn } from '../../rig/test-mode.ts'
import { Web } from '../../rig/web.ts'

/** Within two seconds, or more on a busy machine. */
const SOON = { timeout: 30_000 }

const [KEY_1, KEY_2] = [createKey(1), createKey(2)]

/** Everything before the rotation; it serves nothing. */
let old: TestService
/** The same database, a process that signs with key 2 and knows key 1. */
let service: RunningService
let context: Context
let after: (keys: string) => Promise<Context>
const opened: Context[] = []
beforeAll(async () => {
  old = await startTestService({ LATCHKEY_KEYS: KEY_1 }, { clock: true, listen: false })
  const port = await freePort()
  const config = (keys: string) =>
    makeConfig({
      DATABASE_URL: old.database.url,
      LATCHKEY_KEYS: keys,
      PORT: String(port),
      PUBLIC_URL: `http://localhost:${port}`,
    })
  service = await startService(config(`${KEY_2},${KEY_1}`))
  context = service.context
  after = async (keys) => {
    const later = await createContext(config(keys))
    opened.push(later)
    await later.applications.refresh()
    return later
  }
})
afterAll(async () => {
  await Promise.all(opened.map(closeContext))
  await service.stop()
  await old.stop()
})

const keyOf = async (table: string, column: string, id: string) =>
  (await old.database.query<{ key_id: number }>(`select key_id from ${table} where ${column} = $1`, [id]))[0]?.key_id

const application = () => makeApplication(old.context.db, old.config, old.account.slug)
const grant = async (variant: 'token_set' | 'access_key') => {
  const by = await application()
  const about = { accountId: old.account.id, userId: old.user.id, applicationId: by.id, variant }
  const placed = await placeIssuedGrant(old.context, about)
  await context.applications.refresh()
  return { by, placed }
}
const browser = async () => {
  const user = await makeUser(old.context.db, old.account.slug)
  const id = await startSession(old, user)
  const web = new Web(service.address, `${old.account.slug}.${new URL(context.config.publicUrl).host}`, {})
  web.cookies.set(SESSION, signSession(old.config.keys, id, old.account.slug))
  return { id, web, user }
}

describe('in use, it moves to the key that signs:', () => {
  it('an application secret, at its next use', async () => {
    const by = await application()
    await context.applications.refresh()
    const [secret] = await old.database.query<{ id: string }>(
      'select id from application_secrets where application_id = $1',
      [by.id],
    )
    expect((await new Device(service.address, by).request()).status).toBe(200)
    await expect.poll(() => keyOf('application_secrets', 'id', secret?.id ?? ''), SOON).toBe(2)
    expect((await new Device(service.address, by).request()).status, 'this process has the old digest').toBe(200)
    const without = await after(KEY_2)
    expect(without.applications.authenticate(by.id, by.secret)?.id).toBe(by.id)
    expect(without.applications.authenticate(by.id, `${by.secret.slice(0, -1)}_`)).toBeNull()
  })

  it('a session, whose browser gets a new cookie for the same session', async () => {
    const { id, web } = await browser()
    const before = web.cookies.get(SESSION)
    expect((await web.get('/')).status).toBe(200)
    const cookie = web.cookies.get(SESSION)
    expect(cookie).toBe(signSession(context.config.keys, id, old.account.slug))
    expect(cookie).not.toBe(before)
    expect(await keyOf('sessions', 'id', id)).toBe(2)
    const again = await web.get('/')
    expect([again.status, again.headers['set-cookie']], 'once').toEqual([200, undefined])
  })

  it('a token set, at its next refresh; what was issued before stays valid as long as it would have', async () => {
    const { by, placed } = await grant('token_set')
    const { accessToken, refreshToken } = tokenSetOf(old.context, placed, placed.issuedAt, placed.issuedAt)
    const refresh = (token: string) => postNative(service, by, '/auth/oauth/refresh', { refresh_token: token })
    const first = await refresh(refreshToken)
    expect(first.status).toBe(200)
    expect(await keyOf('grants', 'id', placed.id)).toBe(2)
    const repeated = await refresh(refreshToken)
    expect(repeated.body.refresh_token, 'after a lost answer').toBe(first.body.refresh_token)
    const tokens = [accessToken, first.body.access_token]
    expect(await Promise.all(tokens.map((token) => askVerify(service.address, token)))).toEqual([200, 200])
    const without = await after(KEY_2)
    expect([without.verifyCredential(accessToken), without.verifyCredential(first.body.refresh_token)?.is]).toEqual([
      null,
      'refresh_token',
    ])
  })

  it('an access key, when its application rotates it', async () => {
    const { by, placed } = await grant('access_key')
    const key = makeAccessKey(old.config.keys, placed)
    const rotated = await postNative(service, by, '/auth/key/rotate', { access_key: key })
    expect([rotated.status, await keyOf('grants', 'id', placed.id)]).toEqual([200, 2])
    const without = await after(KEY_2)
    expect([without.verifyCredential(key), without.verifyCredential(rotated.body.access_key)?.is]).toEqual([
      null,
      'access_key',
    ])
  })
})

describe('retiring key 1', () => {
  let before: KeyUse
  let disabled: MadeUser
  const retiring = () => ({ ...context.config, db: context.db })
  /** Once every secret that was used is rehashed, which otherwise takes a second. */
  const count = async () => {
    await context.applications.saveUses()
    return countUse(retiring(), 1)
  }
  beforeEach(async () => {
    before = await count()
  })

  it('is refused for a number that no key has', async () => {
    expect(await retireKey(retiring(), 9, true)).toEqual({ outcome: 'unknown' })
    expect(await old.database.query('select id from signing_keys where retired_at is not null')).toEqual([])
  })

  it('is refused while a process signs with it, also by force', async () => {
    await markSigning(old.context.db, 1)
    expect(await retireKey(retiring(), 1, true)).toEqual({ outcome: 'signs', where: 'elsewhere' })
    expect(await retireKey(retiring(), 2, true)).toEqual({ outcome: 'signs', where: 'here' })
    await old.database.advance(31_000)
    expect((await retireKey(retiring(), 1, false)).outcome).toBe('in_use')
  })

  it('counts what was replaced and is still accepted, until it is not', async () => {
    const { by, placed } = await grant('token_set')
    const { refreshToken } = tokenSetOf(old.context, placed, placed.issuedAt, placed.issuedAt)
    expect((await postNative(service, by, '/auth/oauth/refresh', { refresh_token: refreshToken })).status).toBe(200)
    expect((await countUse(retiring(), 1)).tokenSets).toBe(before.tokenSets + 1)
    await old.database.advance(context.config.accessTokenLifetimeMs + 1_000)
    expect((await countUse(retiring(), 1)).tokenSets).toBeLessThan(before.tokenSets + 1)
  })

  it('does not count what disabled users have, nor sessions that ended', async () => {
    const { user, id } = await browser()
    await makeAuthenticator(old, user)
    await old.context.db.transaction((tx) => issueRecoveryCodes(old.context, tx, user.id))
    const about = { accountId: old.account.id, userId: user.id, applicationId: (await application()).id }
    const { tokenSets, accessKeys } = await count()
    for (const variant of ['token_set', 'access_key'] as const)
      await placeIssuedGrant(old.context, { ...about, variant })
    expect(await count()).toMatchObject({
      authenticators: before.authenticators + 1,
      recoveryCodes: before.recoveryCodes + 10,
      sessions: before.sessions + 1,
      ...{ tokenSets: tokenSets + 1, accessKeys: accessKeys + 1 },
    })
    await old.database.query("update users set disabled_at = now(), password_digest = 'digest' where id = $1", [
      user.id,
    ])
    await old.database.query("update sessions set last_used_at = now() - interval '25 hours' where id = $1", [id])
    const { authenticators, recoveryCodes, sessions } = before
    expect(await count()).toMatchObject({ authenticators, recoveryCodes, sessions, tokenSets, accessKeys })
    disabled = user
  })

  it('ends by force what still needs it, and afterwards it opens nothing', async () => {
    const tokens = await grant('token_set')
    const keys = await grant('access_key')
    const unused = await browser()
    const moved = await browser()
    await moved.web.get('/')
    await makeAuthenticator(old, unused.user)
    await old.context.db.transaction((tx) => issueRecoveryCodes(old.context, tx, unused.user.id))
    const { refreshToken } = tokenSetOf(old.context, tokens.placed, tokens.placed.issuedAt, tokens.placed.issuedAt)
    const key = makeAccessKey(old.config.keys, keys.placed)
    expect(await askVerify(service.address, key)).toBe(200)
    const replaced = await grant('access_key')
    const replacedKey = makeAccessKey(old.config.keys, replaced.placed)
    expect((await postNative(service, replaced.by, '/auth/key/rotate', { access_key: replacedKey })).status).toBe(200)
    expect(await askVerify(service.address, replacedKey), 'for a while').toBe(200)

    const elsewhere = await application()
    await context.applications.refresh()
    const other = await after(`${KEY_2},${KEY_1}`)
    other.applications.authenticate(elsewhere.id, elsewhere.secret)
    await other.applications.saveUses()

    await switchTestModeOn(old, await application())

    const use = await count()
    expect(use).toMatchObject({
      applicationSecrets: before.applicationSecrets + 4,
      tokenSets: before.tokenSets + 1,
      accessKeys: before.accessKeys + 2,
      authenticators: before.authenticators + 1,
      recoveryCodes: before.recoveryCodes + 10,
      sessions: before.sessions + 1,
    })
    expect(await retireKey(retiring(), 1, false)).toEqual({ outcome: 'in_use', use })
    expect(await askVerify(service.address, key), 'nothing was changed').toBe(200)
    const told = await announceRetirement(context.db, 1)
    expect(told).toMatchObject({ authenticatorOwners: 1, recoveryCodeOwners: 1 })
    expect(told.administrators).toBeGreaterThan(0)
    expect(await announceRetirement(context.db, 1), 'once a week').toEqual({
      administrators: 0,
      authenticatorOwners: 0,
      recoveryCodeOwners: 0,
    })

    expect(await retireKey(retiring(), 1, true)).toEqual({ outcome: 'retired', ended: use })
    await expect.poll(() => askVerify(service.address, key), SOON).toBe(401)
    const refreshed = await postNative(service, tokens.by, '/auth/oauth/refresh', { refresh_token: refreshToken })
    expect([refreshed.status, refreshed.body.error]).toEqual([401, 'invalid_application'])
    await expect.poll(() => context.config.keys.byId.has(1), SOON).toBe(false)
    expect(await askVerify(service.address, replacedKey), 'also what was verified before').toBe(401)
    expect((await new Device(service.address, elsewhere).request()).status, 'rehashed by another process').toBe(200)
    const ledTo = async (web: Web) => (await web.send('GET', '/security')).location?.split('?')[0] ?? 'stays'
    expect(await ledTo(unused.web)).toBe('/sign-in')
    expect(['/confirm', 'stays'], 'moved before').toContain(await ledTo(moved.web))
    moved.web.cookies.set(SESSION, signSession(old.config.keys, moved.id, old.account.slug))
    expect(await ledTo(moved.web), 'signed with the retired key').toBe('/sign-in')
    expect(authenticatorSecret(context.config.keys, { id: unused.id, keyId: 1 })).toBeNull()

    const { authenticators } = use
    const left = { applicationSecrets: 0, tokenSets: 0, sessions: 0, recoveryCodes: 0, authenticators }
    expect(await countUse(retiring(), 1), 'no second factor falls away by itself').toMatchObject(left)
    const reasons = await old.database.query(
      'select distinct revocation_reason as reason from grants where id = any($1)',
      [[tokens.placed.id, keys.placed.id]],
    )
    expect(reasons).toEqual([{ reason: 'key_retired' }])
    const [event] = await old.database.query<{ detail: object }>(
      "select detail from audit_events where kind = 'key.retired'",
    )
    expect(event?.detail).toEqual({ key: 1, ...use })
    await expect(startService({ ...old.config, port: 0 })).rejects.toThrow('was retired')
  })

  it('resets whoever is enabled afterwards with an authenticator of it, and mails a link', async () => {
    const administrator = await makeUser(context.db, old.account.slug)
    expect(await enablePerson(context, administrator.id, disabled.id)).toEqual({ outcome: 'sent' })
    const person = await readPerson(context, old.account.id, disabled.id)
    expect(person).toMatchObject({ disabled: false, factors: { password: false, authenticator: false } })
    const mails = await old.database.query('select kind from mails where user_id = $1 and link_id is not null', [
      disabled.id,
    ])
    expect(mails).toEqual([{ kind: 'reset' }])
    const events = await old.database.query<{ kind: string }>(
      "select kind from audit_events where user_id = $1 and kind like 'user.%' order by id",
      [disabled.id],
    )
    expect(events.map(({ kind }) => kind).slice(-2)).toEqual(['user.reset', 'user.enabled'])
    await disablePerson(context, administrator.id, disabled.id)
    expect(await enablePerson(context, administrator.id, disabled.id)).toEqual({ outcome: 'enabled' })
  })
})
