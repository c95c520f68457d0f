/** Flows of the developer console: an account's own applications only. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  addOwnSecret,
  changeSettings,
  type NewOwnApplication,
  registerApplication,
  revokeOwnSecret,
} from '../../../src/flows/applications/own.ts'
import { listOwnApplications, readOwnApplication } from '../../../src/store/applications/own.ts'
import { makeSettings } from '../../rig/application-settings.ts'
import { post } from '../../rig/device.ts'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { everyRow } from '../../rig/witness.ts'

let service: TestService
let stranger: MadeUser
beforeAll(async () => {
  service = await startTestService()
  const { slug } = await makeAccount(service.context.db)
  stranger = await makeUser(service.context.db, slug)
})
afterAll(() => service.stop())

const settings = makeSettings({ name: 'Kitchen display', allowedScopes: ['orders:read', 'orders:write'] })
const wish: NewOwnApplication = { ...settings, public: false }

async function register(given: Partial<NewOwnApplication> = {}) {
  const result = await registerApplication(service.context, service.user.id, { ...wish, ...given })
  if (result.outcome !== 'registered') throw new Error(result.outcome)
  await service.context.applications.refresh()
  return result
}

const requestCode = (id: string, secret: string) =>
  post(service.address, '/auth/oauth/device/code', { form: { SVCappid: id, SVCsecret: secret } })

describe('registering', () => {
  it('returns an id and a secret that can request codes', async () => {
    const { id, secret } = await register()
    expect((await requestCode(id, secret ?? '')).status).toBe(200)
    const byName = { search: '', sort: 'name', descending: false, after: null } as const
    const { lines: listed } = await listOwnApplications(service.context.db, service.account.id, byName)
    expect(listed).toContainEqual(
      expect.objectContaining({ id, name: 'Kitchen display', deviceFlow: true, dialog: false, grants: 0 }),
    )
  })

  it('returns no secret for a public application', async () => {
    const redirectUris = ['https://app.example/callback']
    const { id, secret } = await register({ public: true, deviceFlow: false, redirectUris })
    expect(secret).toBeNull()
    expect(await readOwnApplication(service.context.db, service.account.id, id)).toMatchObject({
      public: true,
      pkceRequired: true,
      secretLines: [],
    })
    expect((await addOwnSecret(service.context, service.user.id, id, null)).outcome).toBe('public')
  })

  it.each([
    ['a name', { name: '' }, { field: 'name' }],
    ['scopes', { allowedScopes: ['no:such'] }, { field: 'scopes', problem: 'unknown' }],
    ['addresses', { redirectUris: ['http://app.example/'] }, { field: 'redirects', problem: 'scheme' }],
  ])('AD-04: names the wrong field, and inserts nothing: %s', async (_what, given, problem) => {
    const before = await everyRow(service)
    const result = await registerApplication(service.context, service.user.id, { ...wish, ...given })
    expect(result).toMatchObject({ outcome: 'unfit', problem })
    expect(await everyRow(service)).toEqual(before)
  })
})

describe('secrets', () => {
  it('are at most three at a time; the first stays valid when a second is added, until it is revoked', async () => {
    const { id, secret } = await register()
    const second = await addOwnSecret(service.context, service.user.id, id, 'batch 2')
    const third = await addOwnSecret(service.context, service.user.id, id, null)
    expect([second.outcome, third.outcome]).toEqual(['added', 'added'])
    expect((await addOwnSecret(service.context, service.user.id, id, null)).outcome).toBe('too_many')
    await service.context.applications.refresh()
    const secrets = [secret, ...[second, third].map((each) => ('secret' in each ? each.secret : ''))]
    for (const each of secrets) expect((await requestCode(id, each ?? '')).status).toBe(200)

    const lines = (await readOwnApplication(service.context.db, service.account.id, id))?.secretLines ?? []
    expect(lines.map(({ label }) => label)).toEqual([null, 'batch 2', null])
    const oldest = lines.at(-1)?.id ?? ''
    expect((await revokeOwnSecret(service.context, service.user.id, id, oldest)).outcome).toBe('revoked')
    await service.context.applications.refresh()
    expect((await requestCode(id, secret ?? '')).status).toBe(401)
    expect((await revokeOwnSecret(service.context, service.user.id, id, oldest)).outcome).toBe('not_found')
  })

  it('cannot be revoked down to none', async () => {
    const { id, secret } = await register()
    const [only] = (await readOwnApplication(service.context.db, service.account.id, id))?.secretLines ?? []
    expect((await revokeOwnSecret(service.context, service.user.id, id, only?.id ?? '')).outcome).toBe('last')
    expect((await requestCode(id, secret ?? '')).status).toBe(200)
  })

  it('show the day of their last use, or that they are unused', async () => {
    const { id, secret } = await register()
    await addOwnSecret(service.context, service.user.id, id, 'spare')
    await requestCode(id, secret ?? '')
    await service.context.applications.saveUses()
    const lines = (await readOwnApplication(service.context.db, service.account.id, id))?.secretLines ?? []
    expect(lines.map(({ label, lastUsedOn }) => [label, lastUsedOn !== null])).toEqual([
      ['spare', false],
      [null, true],
    ])
  })
})

describe('settings', () => {
  it('reach the running service with the next pull', async () => {
    const { id, secret } = await register()
    const settings = { ...wish, name: 'Kitchen screen', defaultScopes: ['orders:write'], deviceFlow: false }
    expect(
      (
        await changeSettings(service.context, service.user.id, id, {
          ...settings,
          pkceRequired: false,
        })
      ).outcome,
    ).toBe('saved')
    await service.context.applications.refresh()
    expect((await requestCode(id, secret ?? '')).body.error).toBe('device_flow_disabled')
    expect(service.context.applications.find(id)).toMatchObject({
      name: 'Kitchen screen',
      defaultScopes: ['orders:write'],
    })
  })
})

describe('a code challenge in the dialog', () => {
  const redirectUris = ['https://app.example/callback']
  const isRequired = async (id: string) =>
    (await readOwnApplication(service.context.db, service.account.id, id))?.pkceRequired

  it('is not required of a confidential application, unless its account requires it', async () => {
    const { id } = await register({ deviceFlow: false, redirectUris })
    expect(await isRequired(id)).toBe(false)
    const settings = { ...wish, deviceFlow: false, redirectUris }
    await changeSettings(service.context, service.user.id, id, { ...settings, pkceRequired: true })
    expect(await isRequired(id)).toBe(true)
    await changeSettings(service.context, service.user.id, id, { ...settings, pkceRequired: false })
    expect(await isRequired(id)).toBe(false)
  })

  it('is always required of a public application, whatever a form says', async () => {
    const { id } = await register({ public: true, deviceFlow: false, redirectUris })
    const settings = { ...wish, deviceFlow: false, redirectUris }
    await changeSettings(service.context, service.user.id, id, { ...settings, pkceRequired: false })
    expect(await isRequired(id)).toBe(true)
  })
})

describe('AD-05: an application of another account', () => {
  it('cannot be read or changed, and no row changes', async () => {
    const { id } = await register()
    const [secret] = (await readOwnApplication(service.context.db, service.account.id, id))?.secretLines ?? []
    const before = await everyRow(service)
    const { context } = service
    const other = (
      await service.database.query<{ account_id: string }>('select account_id from users where id = $1', [stranger.id])
    )[0]?.account_id
    expect(await readOwnApplication(context.db, other ?? '', id)).toBeNull()
    expect((await changeSettings(context, stranger.id, id, { ...wish, pkceRequired: false })).outcome).toBe('not_found')
    expect((await addOwnSecret(context, stranger.id, id, null)).outcome).toBe('not_found')
    expect((await revokeOwnSecret(context, stranger.id, id, secret?.id ?? '')).outcome).toBe('not_found')
    expect(await everyRow(service)).toEqual(before)
  })

  it('nor can one of the own account by a user who is not an administrator', async () => {
    const clerk = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
    const { id } = await register()
    const before = await everyRow(service)
    expect((await registerApplication(service.context, clerk.id, wish)).outcome).toBe('forbidden')
    expect((await changeSettings(service.context, clerk.id, id, { ...wish, pkceRequired: false })).outcome).toBe(
      'forbidden',
    )
    expect((await addOwnSecret(service.context, clerk.id, id, null)).outcome).toBe('forbidden')
    expect(await everyRow(service)).toEqual(before)
  })
})
