/** docs/interface/credentials.md, "Credentials": what a credential may do follows its user and its application. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { disablePerson, enablePerson, setPersonRoles } from '../../../src/flows/accounts/people.ts'
import { removeRole, saveRole } from '../../../src/flows/accounts/roles.ts'
import { suspendApplication } from '../../../src/flows/applications/manage.ts'
import { removeGrant } from '../../../src/flows/grants/connected-applications.ts'
import { listRoles } from '../../../src/store/accounts/roles.ts'
import { markApplicationChanged } from '../../../src/store/applications/applications.ts'
import { announce } from '../../../src/store/grants/changes.ts'
import { markUsed } from '../../../src/store/grants/grants.ts'
import { askMe, connect, grant } from '../../rig/connect.ts'
import { post } from '../../rig/device.ts'
import { readXml } from '../../rig/dialects.ts'
import { type MadeUser, makeApplication, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const BOTH = ['orders:read', 'orders:write']
const MAX_MS = 2_000

let service: TestService
beforeAll(async () => {
  service = await startTestService({ ACCESS_TOKEN_LIFETIME: '600' }, { clock: true })
})
afterAll(() => service.stop())

/** Runs the tasks of every second now. */
const hear = async () => {
  await service.context.applications.refresh()
  await service.context.grantCache.pull()
}
const changeGrant = (grantId: string, what: string) =>
  service.context.db.transaction(async (tx) => {
    await tx.query(`update grants set ${what} where id = $1`, [grantId])
    await announce(tx, { grantId })
  })
const changeApplication = (id: string, what: string) =>
  service.context.db.transaction(async (tx) => {
    await markApplicationChanged(tx, id)
    await tx.query(`update applications set ${what} where id = $1`, [id])
  })
const makeClerk = () => makeUser(service.context.db, service.account.slug, { holds: BOTH })
const roleOf = async (user: MadeUser) => {
  const [row] = await service.database.query<{ role_id: string }>('select role_id from user_roles where user_id = $1', [
    user.id,
  ])
  return row?.role_id ?? ''
}
const lastUse = async (grantId: string) => {
  const [row] = await service.database.query<{ day: string | null; today: string; version: string }>(
    'select last_used_on::text as day, test_clock.now()::date::text as today, xmin::text as version from grants where id = $1',
    [grantId],
  )
  return row
}

describe('GET /me', () => {
  it('returns the user, the scopes and the lifetime of an access token', async () => {
    const clerk = await makeClerk()
    const { credential, grantId } = await connect(service, { user: clerk })
    const answer = await askMe(service, credential)
    expect([answer.status, answer.headers['cache-control']]).toEqual([200, 'no-store'])
    const { expires_in, ...rest } = answer.body
    expect(rest).toEqual({
      account: service.account.slug,
      user: clerk.id,
      application: service.application.id,
      grant: grantId,
      scope: 'orders:read,orders:write',
      variant: 'token_set',
    })
    expect(expires_in).toBeGreaterThan(590)
    expect(expires_in).toBeLessThanOrEqual(600)
  })

  it('returns the same of an access key, without an expiry', async () => {
    const { credential, grantId } = await connect(service, { variant: 'key', scope: 'orders:read' })
    expect((await askMe(service, credential)).body).toEqual({
      account: service.account.slug,
      user: service.user.id,
      application: service.application.id,
      grant: grantId,
      scope: 'orders:read',
      variant: 'access_key',
    })
  })

  it('names the user by e-mail address only with the scope email', async () => {
    const { db } = service.context
    const application = await makeApplication(db, service.config, service.account.slug, {
      allowedScopes: ['orders:read', 'email'],
    })
    await hear()
    const clerk = await makeUser(db, service.account.slug, { holds: ['orders:read', 'email'] })
    const ask = async (scope: string) => {
      const { credential } = await connect(service, { user: clerk, application, scope })
      return (await askMe(service, credential)).body
    }
    expect(await ask('orders:read,email')).toMatchObject({ user: clerk.id, email: clerk.email })
    expect(await ask('orders:read')).not.toHaveProperty('email')
  })

  it('answers the same with and without the version, and in XML', async () => {
    const { credential } = await connect(service, { variant: 'key' })
    const { body } = await askMe(service, credential, '/me')
    expect((await askMe(service, credential)).body).toEqual(body)
    for (const path of ['/me.xml', '/1/me.xml']) {
      expect(readXml((await askMe(service, credential, path)).text)).toEqual(body)
    }
  })

  it('accepts a credential as Authorization: Bearer, in any case, and in no other way', async () => {
    const { credential } = await connect(service)
    const ask = (headers: Record<string, string>, query = {}) =>
      post(service.address, '/1/me', { method: 'GET', headers, query })
    for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
      expect((await ask({ authorization: `${scheme} ${credential}` })).status).toBe(200)
    }
    const refused = await Promise.all([
      ask({}),
      ask({ authorization: credential }),
      ask({ authorization: `Basic ${credential}` }),
      ask({ authorization: 'Bearer' }),
      ask({ 'x-access-token': credential, cookie: `access_token=${credential}` }),
      ask({}, { access_token: credential }),
    ])
    for (const answer of refused) {
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer'])
      expect(answer.body.error).toBe('invalid_credential')
    }
    const twice = await ask({ authorization: `Bearer ${credential}, Bearer ${credential}` })
    expect([twice.status, twice.headers['www-authenticate']]).toEqual([401, 'Bearer error="invalid_token"'])
    expect(new Set([...refused, twice].map((answer) => answer.text)).size).toBe(1)
    const posted = await post(service.address, '/1/me', { form: { access_token: credential } })
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD'])
  })

  it('accepts no refresh token, device code, application secret or forged credential', async () => {
    const { credential, refreshToken, deviceCode } = await connect(service)
    const forged = credential.slice(0, -2) + (credential.endsWith('AA') ? 'BB' : 'AA')
    for (const text of [refreshToken, deviceCode, service.application.secret, forged, `${credential}=`, 'x']) {
      expect((await askMe(service, text)).status).toBe(401)
    }
    expect((await askMe(service, credential)).status).toBe(200)
  })

  it('accepts an access token until its expiry, also after a refresh', async () => {
    const token = await connect(service)
    await changeGrant(token.grantId, 'generation = generation + 3, key_generation = key_generation + 3')
    await hear()
    expect((await askMe(service, token.credential)).status).toBe(200)
  })

  it('accepts no access key of an old key generation, whatever the generation of refresh tokens', async () => {
    const key = await connect(service, { variant: 'key' })
    await changeGrant(key.grantId, 'generation = generation + 1')
    await hear()
    expect((await askMe(service, key.credential)).status).toBe(200)
    await changeGrant(key.grantId, 'key_generation = key_generation + 1')
    await hear()
    expect((await askMe(service, key.credential)).status).toBe(401)
  })

  it('accepts a rotated key during the overlap, and not after it', async () => {
    const key = await connect(service, { variant: 'key' })
    await changeGrant(key.grantId, 'key_generation = key_generation + 1, key_rotated_at = test_clock.now()')
    await hear()
    expect((await askMe(service, key.credential)).status).toBe(200)
    await service.database.advance(service.config.accessKeyOverlapMs)
    await hear()
    expect((await askMe(service, key.credential)).status).toBe(401)
  })
})

/** Each change by its flow, and the expected state of a credential after the next pull. */
describe('what a credential may do follows', () => {
  const changes: [string, (clerk: MadeUser, grantId: string) => Promise<unknown>, string | null][] = [
    [
      'the role: it lost a scope',
      async (clerk) =>
        saveRole(service.context, service.user.id, {
          id: await roleOf(clerk),
          name: `fewer ${clerk.id}`,
          scopes: ['orders:read'],
        }),
      'orders:read',
    ],
    [
      'the role: it was removed',
      async (clerk) => removeRole(service.context, service.user.id, await roleOf(clerk)),
      '',
    ],
    [
      'the user: they were given another role',
      async (clerk) => {
        const other = await makeUser(service.context.db, service.account.slug, { holds: ['orders:write'] })
        return setPersonRoles(service.context, service.user.id, clerk.id, [await roleOf(other)])
      },
      'orders:write',
    ],
    ['the user: they were disabled', (clerk) => disablePerson(service.context, service.user.id, clerk.id), null],
    [
      'the grant: its user removed it',
      (clerk, grantId) =>
        removeGrant(service.context, { by: clerk.id, grantId, asAdministrator: false, reported: false }),
      null,
    ],
    [
      'the grant: an administrator removed it',
      (_, grantId) =>
        removeGrant(service.context, { by: service.user.id, grantId, asAdministrator: true, reported: false }),
      null,
    ],
  ]

  it.each(['oauth', 'key'] as const)('in the %s variant: every change, with the next pull', async (variant) => {
    for (const [what, change, scope] of changes) {
      const clerk = await makeClerk()
      const { credential, grantId } = await connect(service, { user: clerk, variant })
      expect((await askMe(service, credential)).body.scope).toBe('orders:read,orders:write')
      const result = await change(clerk, grantId)
      await hear()
      const answer = await askMe(service, credential)
      expect([what, result]).toEqual([what, expect.objectContaining({ outcome: expect.stringMatching(/ed$/) })])
      expect([what, answer.status, answer.body.scope ?? null]).toEqual([what, scope === null ? 401 : 200, scope])
    }
  })

  it('TK-08: within two seconds, in the background', async () => {
    const clerk = await makeClerk()
    const made = await Promise.all([
      connect(service, { user: clerk }),
      connect(service, { user: clerk, variant: 'key' }),
    ])
    for (const { credential } of made) expect((await askMe(service, credential)).status).toBe(200)
    await disablePerson(service.context, service.user.id, clerk.id)
    const startedAt = performance.now()
    for (const { credential } of made) {
      while ((await askMe(service, credential)).status !== 401) {
        expect(performance.now() - startedAt).toBeLessThan(MAX_MS)
        await sleep(50)
      }
    }
  })

  it('the application: its allowed scopes, and its deletion', async () => {
    const application = await makeApplication(service.context.db, service.config, service.account.slug)
    await service.context.applications.refresh()
    const { credential } = await connect(service, { application })
    await changeApplication(application.id, "allowed_scopes = '{orders:read}'")
    await hear()
    expect((await askMe(service, credential)).body.scope).toBe('orders:read')
    await changeApplication(application.id, 'deleted_at = now()')
    await hear()
    expect((await askMe(service, credential)).status).toBe(401)
  })

  it('never more than was granted, whatever scopes the user gained since', async () => {
    const clerk = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
    const { credential } = await connect(service, { user: clerk })
    const administrator = (await listRoles(service.context.db, service.account.id)).find((role) => role.holdsEveryScope)
    await setPersonRoles(service.context, service.user.id, clerk.id, [administrator?.id ?? ''])
    await hear()
    expect((await askMe(service, credential)).body.scope).toBe('orders:read')
  })

  it('not a suspension: it stops new grants only', async () => {
    const application = await makeApplication(service.context.db, service.config, service.account.slug)
    await service.context.applications.refresh()
    const { credential } = await connect(service, { application })
    await suspendApplication(service.context.db, application.id, 'test')
    await hear()
    expect((await askMe(service, credential)).status).toBe(200)
  })

  it('enabling a user restores what disabling took, and no more', async () => {
    const clerk = await makeClerk()
    const { credential } = await connect(service, { user: clerk })
    await disablePerson(service.context, service.user.id, clerk.id)
    await hear()
    expect((await askMe(service, credential)).status).toBe(401)
    await enablePerson(service.context, service.user.id, clerk.id)
    await hear()
    expect((await askMe(service, credential)).body.scope).toBe('orders:read,orders:write')
  })
})

describe('DC-15: between the grant and the poll', () => {
  it.each([
    [
      'the user is disabled',
      (clerk: MadeUser) => disablePerson(service.context, service.user.id, clerk.id),
      'user_disabled',
    ],
    [
      'the user removes the grant',
      (clerk: MadeUser, grantId: string) =>
        removeGrant(service.context, { by: clerk.id, grantId, asAdministrator: false, reported: false }),
      'removed_by_user',
    ],
  ])(
    '%s: the poll gets nothing, and no live grant is left, not even when the user is enabled again',
    async (_, change, reason) => {
      const clerk = await makeClerk()
      const { device, deviceCode, grantId } = await grant(service, { user: clerk })
      await change(clerk, grantId)
      expect((await device.poll(deviceCode)).body.error).toBe('invalid')
      await enablePerson(service.context, service.user.id, clerk.id)
      expect((await device.poll(deviceCode)).body.error).toBe('invalid')
      const rows = await service.database.query('select revocation_reason, issued_at from grants where id = $1', [
        grantId,
      ])
      expect(rows).toEqual([{ revocation_reason: reason, issued_at: null }])
    },
  )
})

describe('time', () => {
  it('the day of the last use is saved once a day', async () => {
    const { credential, grantId } = await connect(service, { variant: 'key' })
    const use = async () => {
      await Promise.all([1, 2, 3].map(() => askMe(service, credential)))
      await service.context.grantCache.saveUses()
      return lastUse(grantId)
    }
    expect((await lastUse(grantId))?.day).toBeNull()
    const first = await use()
    expect(first?.day).toBe(first?.today)
    expect(await use()).toEqual(first)
    await service.database.advance(24 * 60 * 60 * 1000)
    await hear()
    const second = await use()
    expect(second?.day).toBe(second?.today)
    expect(second?.day).not.toBe(first?.day)
  })

  it('of many first uses of a day at the same moment, one is written', async () => {
    const { grantId } = await connect(service)
    await markUsed(service.context.db, [{ id: grantId, generation: 1 }])
    const first = await lastUse(grantId)
    await markUsed(service.context.db, [{ id: grantId, generation: 1 }])
    expect(await lastUse(grantId)).toEqual(first)
  })

  it('a refused credential is not recorded as used', async () => {
    const { grantId, refreshToken } = await connect(service)
    await askMe(service, refreshToken)
    await service.context.grantCache.saveUses()
    expect((await lastUse(grantId))?.day).toBeNull()
  })

  it('an access token expires by PostgreSQL’s clock, and an access key does not', async () => {
    const [token, key] = [await connect(service), await connect(service, { variant: 'key' })]
    await service.database.advance(595_000)
    await hear()
    expect((await askMe(service, token.credential)).body.expires_in).toBeLessThanOrEqual(5)
    await service.database.advance(6_000)
    await hear()
    expect((await askMe(service, token.credential)).status).toBe(401)
    expect((await askMe(service, key.credential)).status).toBe(200)
  })
})
