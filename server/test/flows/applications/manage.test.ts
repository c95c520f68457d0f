/** Registration of applications: names, publishers, and scopes of the device flow. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setApplicationPublisher } from '../../../src/flows/applications/manage.ts'
import { findApplication } from '../../../src/store/applications/applications.ts'
import { readScopeCatalogue, readScopes } from '../../../src/store/applications/scopes.ts'
import { makeRegistration } from '../../rig/application-settings.ts'
import { hostileNames } from '../../rig/corpora/hostile-names.ts'
import { createApplication, createScope } from '../../rig/create.ts'
import { makeApplication } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { digestOf } from '../../rig/witness.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const register = (name: string) =>
  createApplication(service.context.db, service.config.keys, makeRegistration(service.account.slug, { name }))

describe('the name of an application', () => {
  it('UC-20: is refused for two hundred hostile names, with a message and without a row', async () => {
    const count = 'select count(*)::int as count from applications'
    const before = await service.database.query(count)
    for (const name of hostileNames.flatMap(([, names]) => names)) {
      expect(await register(name)).toEqual({
        outcome: 'refused',
        reason: expect.stringMatching(/^An application has a name/),
      })
    }
    expect(await service.database.query(count)).toEqual(before)
  })

  it('UC-20: may resemble another one, and its publisher is unverified', async () => {
    for (const name of ['SVC Support', 'SVС Suррort', '🔒 Latchkey (official)']) {
      const result = await register(name)
      if (result.outcome === 'refused') throw new Error(result.reason)
      const application = await findApplication(service.context.db, result.value.id)
      expect(application).toMatchObject({ name, publisher: { status: 'unverified', name: null } })
    }
  })
})

describe('the publisher of an application', () => {
  const set = (id: string, status: 'own' | 'verified' | 'unverified', name: string | null) =>
    setApplicationPublisher(service.context.db, id, { status, name })

  it('is set, pulled by every server, and recorded', async () => {
    const { id, secret } = await makeApplication(service.context.db, service.config, service.account.slug)
    await service.context.applications.refresh()
    expect(await set(id, 'verified', 'acme.example')).toEqual({ outcome: 'done', value: { id } })
    await service.context.applications.refresh()
    const copy = service.context.applications.authenticate(id, secret)
    expect(copy?.publisher).toEqual({ status: 'verified', name: 'acme.example' })
    const events = await service.database.query(
      "select detail from audit_events where application_id = $1 and kind = 'application.publisher_set'",
      [id],
    )
    expect(events).toEqual([{ detail: { name: 'acme.example', status: 'verified' } }])
    await set(id, 'unverified', null)
    expect((await findApplication(service.context.db, id))?.publisher).toEqual({ status: 'unverified', name: null })
  })

  it.each([
    ['verified', null, 'A verified publisher has a domain'],
    ['verified', 'Acme Ltd', '"Acme Ltd" is not a domain'],
    ['own', 'https://acme.example', 'is not a domain'],
  ] as const)('cannot be %s with the name %j', async (status, name, reason) => {
    expect(await set(service.application.id, status, name)).toMatchObject({ reason: expect.stringContaining(reason) })
    expect((await findApplication(service.context.db, service.application.id))?.publisher.status).toBe('unverified')
  })

  it('cannot be set for an unknown application', async () => {
    expect(await set('app_000000000000', 'own', null)).toMatchObject({ outcome: 'refused' })
  })
})

describe('UC-18: a scope excluded from the device flow', () => {
  const SCOPES = ['orders:read', 'account:close']

  it('is in the catalogue as created', async () => {
    const made = { name: 'account:close', title: 'Close the account', dangerous: true, deviceFlow: false }
    await createScope(service.context.db, made)
    await createScope(service.context.db, { name: 'stock:read', title: 'See stock' })
    const plain = { name: 'stock:read', title: 'See stock', dangerous: false, deviceFlow: true }
    expect(await readScopes(service.context.db, ['stock:read', 'no:such', 'account:close'])).toEqual([plain, made])
    expect(await readScopeCatalogue(service.context.db)).toEqual(expect.arrayContaining([made, plain]))
  })

  it('is refused in a code request, although the application is allowed it', async () => {
    const given = { allowedScopes: SCOPES, defaultScopes: ['orders:read'] }
    const application = await makeApplication(service.context.db, service.config, service.account.slug, given)
    await service.context.applications.refresh()
    for (const variant of ['oauth', 'key'] as const) {
      const device = service.device(variant, application)
      const refused = await device.request({ scope: 'orders:read,account:close' })
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_scope'])
    }
  })

  it('is left out of a grant, even if a code carries it', async () => {
    const given = { allowedScopes: SCOPES, defaultScopes: ['orders:read'], requiredScopes: ['account:close'] }
    const application = await makeApplication(service.context.db, service.config, service.account.slug, given)
    await service.context.applications.refresh()
    const device = service.device('oauth', application)
    const code = await device.code()
    await service.database.query('update device_codes set scopes = $2 where user_code_digest = $1', [
      digestOf(service, code.user_code),
      SCOPES,
    ])
    expect(await service.grant(code.user_code)).toBe('granted')
    expect((await device.poll(code.device_code)).body.scope).toBe('orders:read')
  })
})
