/** docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md: what was taken away in the lost time stays taken away. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BY_COMMAND_LINE, byManagementKey } from '../../../src/core/audit/actor.ts'
import { decideAddresses, readAddressChanges } from '../../../src/flows/accounts/change-address.ts'
import { setPersonRoles } from '../../../src/flows/accounts/people.ts'
import { readPolicy, savePolicy } from '../../../src/flows/accounts/policy.ts'
import { removeRole, saveRole } from '../../../src/flows/accounts/roles.ts'
import { updateUser } from '../../../src/flows/accounts/update.ts'
import { setApplicationPublisher } from '../../../src/flows/applications/manage.ts'
import { changeSettings } from '../../../src/flows/applications/own.ts'
import type { Context } from '../../../src/flows/context.ts'
import { rotateKey } from '../../../src/flows/manage/keys.ts'
import { removePasskey } from '../../../src/flows/sign-in/passkeys.ts'
import { readSession } from '../../../src/flows/sign-in/sessions.ts'
import { addEndpoint, removeEndpoint } from '../../../src/flows/webhooks/manage.ts'
import { signSession } from '../../../src/secrets/web-texts.ts'
import { listRoles, readRole } from '../../../src/store/accounts/roles.ts'
import { findMember } from '../../../src/store/accounts/users.ts'
import { findApplication } from '../../../src/store/applications/applications.ts'
import { recordEvent } from '../../../src/store/audit/events.ts'
import { lockManagementKey } from '../../../src/store/manage/keys.ts'
import { readRestores } from '../../../src/store/restore/restores.ts'
import { insertPasskey, listPasskeys } from '../../../src/store/sign-in/methods.ts'
import { listEndpoints } from '../../../src/store/webhooks/endpoints.ts'
import { setRedirects } from '../../rig/create.ts'
import { makeApplication, makeStaffedAccount, makeUser } from '../../rig/make.ts'
import { makeManagementKey, makerOf } from '../../rig/manage.ts'
import { startSession } from '../../rig/signed-in.ts'
import { type JournalledService, startJournalledService } from './journalled-service.ts'

let journalled: JournalledService
let context: Context
beforeAll(async () => {
  journalled = await startJournalledService()
  context = journalled.service.context
})
afterAll(() => journalled.stop())

/** An account with two administrators and a clerk. */
async function makeStaff() {
  const { account, roles } = await makeStaffedAccount(context.db)
  const make = (role: string) => makeUser(context.db, account.slug, { role, password: 'correct horse battery' })
  const [admin, dismissed, clerk] = [await make('administrator'), await make('administrator'), await make('clerk')]
  const key = {
    actor: byManagementKey('mgk_test00000000'),
    accountId: account.id,
    scopes: ['roles:write', 'administrators:write'],
  }
  return { account, roles, admin, dismissed, clerk, key }
}

const passkeyOf = (userId: string, id: string) => ({
  ...{ id, userId, publicKey: Buffer.from('key'), counter: 0, transports: [], name: id },
})

async function openRestore({ db }: Context) {
  const [newest] = await readRestores(db, 1)
  return newest
}

describe('after a restore', () => {
  it('a dismissed administrator stays dismissed, and nothing is left to accept', async () => {
    const { account, roles, admin, dismissed } = await makeStaff()
    await journalled.dump()
    await setPersonRoles(context, admin.id, dismissed.id, [roles.clerk])
    const { db } = await journalled.restore()
    expect(await findMember(db, account.id, dismissed.id)).toMatchObject({ administrator: false, roles: [] })
    expect(await findMember(db, account.id, admin.id)).toMatchObject({ administrator: true })
    expect(await openRestore({ db } as Context)).toMatchObject({
      repeated: { access: 1 },
      toAccept: [],
      finished: false,
    })
  })

  it('an account that lost its last administrator says so', async () => {
    const { account, roles, admin, dismissed, clerk, key } = await makeStaff()
    await setPersonRoles(context, key, dismissed.id, [])
    await journalled.dump()
    await setPersonRoles(context, key, clerk.id, [roles.administrator])
    await setPersonRoles(context, clerk.id, admin.id, [roles.clerk])
    const restored = await journalled.restore()
    expect(await findMember(restored.db, account.id, admin.id)).toMatchObject({ administrator: false })
    const name = `account.without_administrator:${account.id}`
    expect((await openRestore(restored))?.toAccept).toEqual([name])
    expect(await journalled.finish(restored)).toMatchObject({ finished: 0, toAccept: [name] })
    expect(await journalled.finish(restored, [name])).toMatchObject({ finished: 1, toAccept: [] })
  })

  it('permissions, passkeys and the scopes of roles that were taken away stay away', async () => {
    const { account, roles, admin, clerk, key } = await makeStaff()
    const { db } = context
    const saved = await saveRole(context, admin.id, { id: null, name: 'driver', scopes: ['orders:read'] })
    const driver = 'id' in saved ? saved.id : ''
    await updateUser(context, key, clerk.id, { permissions: ['orders:read'] })
    await db.transaction(async (tx) => {
      for (const id of ['kept', 'removed']) await insertPasskey(tx, passkeyOf(clerk.id, `${id}-${clerk.id}`))
    })
    await journalled.dump()
    await updateUser(context, key, clerk.id, { permissions: [] })
    await saveRole(context, admin.id, { id: roles.clerk, name: 'clerk', scopes: [] })
    await removeRole(context, admin.id, driver)
    const where = { account: { id: account.id, slug: account.slug } }
    const session = await startSession(journalled.service, clerk, where)
    const signedIn = await readSession(context, account.slug, signSession(context.config.keys, session, account.slug))
    if (!signedIn?.sessionUser) throw new Error('nobody is signed in')
    const removal = await removePasskey(
      context,
      signedIn.account,
      signedIn.sessionUser,
      `removed-${clerk.id}`,
      Date.now(),
    )
    expect(removal.outcome).toBe('removed')

    const restored = await journalled.restore()
    expect(await findMember(restored.db, account.id, clerk.id)).toMatchObject({
      permissions: [],
      roles: [{ id: roles.clerk }],
    })
    expect((await listPasskeys(restored.db, clerk.id)).map(({ id }) => id)).toEqual([`kept-${clerk.id}`])
    expect(await readRole(restored.db, account.id, roles.clerk)).toMatchObject({ scopes: [] })
    expect((await listRoles(restored.db, account.id)).map(({ name }) => name)).not.toContain('driver')
    expect((await openRestore(restored))?.toAccept).toEqual([])
  })

  it('a stricter policy stays as strict', async () => {
    const { account, admin } = await makeStaff()
    const [named, other] = [
      await makeApplication(context.db, context.config, account.slug),
      await makeApplication(context.db, context.config, account.slug),
    ]
    const lax = {
      deviceFlow: true,
      unverifiedPublishers: true,
      onlyApplications: null,
      secondFactor: 'optional',
    } as const
    await savePolicy(context, admin.id, lax)
    await journalled.dump()
    const strict = {
      ...{ deviceFlow: false, unverifiedPublishers: false, secondFactor: 'required' as const },
      onlyApplications: [named.id, other.id],
    }
    await savePolicy(context, admin.id, strict)
    await savePolicy(context, admin.id, { ...strict, onlyApplications: [named.id] })
    const restored = await journalled.restore()
    expect((await readPolicy(restored, account.id))?.policy).toEqual({ ...strict, onlyApplications: [named.id] })
  })

  it('a laxer policy is not repeated', async () => {
    const { account, admin } = await makeStaff()
    const strict = {
      deviceFlow: false,
      unverifiedPublishers: false,
      onlyApplications: [],
      secondFactor: 'required',
    } as const
    await savePolicy(context, admin.id, strict)
    await journalled.dump()
    await savePolicy(context, admin.id, { ...strict, deviceFlow: true, onlyApplications: null })
    const restored = await journalled.restore()
    expect((await readPolicy(restored, account.id))?.policy).toEqual(strict)
  })

  it('redirect URIs, scopes, the publisher and optional PKCE stay away from an application', async () => {
    const { account, admin } = await makeStaff()
    const { db, config } = context
    const [kept, removed] = ['https://kept.example/', 'https://removed.example/']
    const about = { redirectUris: [kept, removed], allowedScopes: ['orders:read', 'orders:write'] }
    const { id } = await makeApplication(db, config, account.slug, { ...about, requiredScopes: ['orders:write'] })
    const other = await makeApplication(db, config, account.slug, about)
    await setApplicationPublisher(db, other.id, { status: 'verified', name: 'acme.example' })
    await journalled.dump()
    const application = await findApplication(db, id)
    if (!application) throw new Error('the application is missing')
    const settings = { ...application, redirectUris: [kept], allowedScopes: ['orders:read'], requiredScopes: [] }
    expect(await changeSettings(context, admin.id, id, { ...settings, pkceRequired: true })).toEqual({
      outcome: 'saved',
    })
    await setRedirects(context, other.id, [removed])
    await setApplicationPublisher(db, other.id, { status: 'unverified', name: null })
    const restored = await journalled.restore()
    expect(await findApplication(restored.db, id)).toMatchObject({
      ...{ redirectUris: [kept], allowedScopes: ['orders:read'], defaultScopes: ['orders:read'], requiredScopes: [] },
      pkceRequired: true,
    })
    expect(await findApplication(restored.db, other.id)).toMatchObject({
      ...{ redirectUris: [removed], publisher: { status: 'unverified', name: null } },
      ...{ pkceRequired: false, allowedScopes: ['orders:read', 'orders:write'] },
    })
  })

  it('a webhook stays removed, and the secret of a management key stays replaced', async () => {
    const { account, admin } = await makeStaff()
    const { id } = await makeApplication(context.db, context.config, account.slug)
    const [removed, kept] = [
      await addEndpoint(context, admin.id, id, 'https://removed.example/'),
      await addEndpoint(context, admin.id, id, 'https://kept.example/'),
    ]
    const endpoint = 'endpointId' in removed ? removed.endpointId : ''
    const [rotated, untouched] = [
      await makeManagementKey(journalled.service),
      await makeManagementKey(journalled.service),
    ]
    await journalled.dump()
    expect(await removeEndpoint(context, admin.id, id, endpoint)).toEqual({ outcome: 'removed' })
    await rotateKey(makerOf(journalled.service), rotated.id, { overlapMs: 0, lifetimeMs: 60_000 })
    const restored = await journalled.restore()
    const urls = (await listEndpoints(restored.db, id)).filter(({ gone }) => !gone).map(({ url }) => url)
    expect([kept.outcome, urls]).toEqual(['added', ['https://kept.example/']])
    const stateOf = async (key: string) => (await restored.db.transaction((tx) => lockManagementKey(tx, key)))?.state
    expect([await stateOf(rotated.id), await stateOf(untouched.id)]).toEqual(['revoked', 'live'])
    expect((await openRestore(restored))?.repeated).toMatchObject({ access: 1, keys: 1 })
  })

  it('what cannot be repeated is listed by name, and the restore is unfinished until all of it was accepted', async () => {
    const { account, admin, clerk, key } = await makeStaff()
    await journalled.dump()
    await updateUser(context, key, clerk.id, { email: `new@${account.slug}.example` })
    const { others } = await readAddressChanges(context, account.id)
    const marks = others.map(({ mark }) => mark)
    await decideAddresses(context, admin.id, marks, 'change')
    const about = { actor: BY_COMMAND_LINE, accountId: account.id }
    await context.db.transaction((tx) => recordEvent(tx, { kind: 'account.provider_changed', ...about }))
    const restored = await journalled.restore()
    const names = [`account.provider_changed:${account.id}`, `user.address:${clerk.id}`]
    expect((await openRestore(restored))?.toAccept).toEqual(names)
    expect(await journalled.finish(restored)).toMatchObject({ finished: 0, toAccept: names })
    expect(await journalled.finish(restored, names.slice(0, 1))).toMatchObject({
      finished: 0,
      toAccept: names.slice(1),
    })
    expect(await openRestore(restored)).toMatchObject({ finished: false })
    expect(await journalled.finish(restored, names)).toMatchObject({ finished: 1 })
    const events = await restored.db.query(`select detail from audit_events where kind = 'database.restore_finished'`)
    expect(events.rows).toEqual([{ detail: { accepted: names } }])
  })
})

it('a line has ids, names of scopes and digests, but no address', () => {
  const text = journalled.lines().join('\n')
  for (const secret of ['example', 'correct horse', '@']) expect(text).not.toContain(secret)
})
