/** TK-16: which credentials stay valid after a change of a password, a user or an application. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { disablePerson, enablePerson, sendPersonLink } from '../../../src/flows/accounts/people.ts'
import { createSetupLink } from '../../../src/flows/accounts/set-up.ts'
import { restoreApplication, suspendApplication } from '../../../src/flows/applications/manage.ts'
import { changePassword } from '../../../src/flows/sign-in/change-password.ts'
import { setPasswordByLink } from '../../../src/flows/sign-in/links.ts'
import { createLink } from '../../../src/flows/sign-in/mailed-link.ts'
import { digestPassword } from '../../../src/secrets/password.ts'
import { signLink } from '../../../src/secrets/web-texts.ts'
import { markApplicationChanged } from '../../../src/store/applications/applications.ts'
import { findAccountSession, insertSession } from '../../../src/store/sign-in/sessions.ts'
import { askMe, type Connected, connect } from '../../rig/connect.ts'
import { grantEvents, grantLine, postNative } from '../../rig/credentials.ts'
import { refresh } from '../../rig/dialog.ts'
import { type MadeApplication, type MadeUser, makeApplication, makeUser } from '../../rig/make.ts'
import { needs } from '../../rig/origins/needs.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { mailsOf, sessionsOf } from '../../rig/witness.ts'

const BROWSER = { address: null, agent: null, known: null, mark: '', language: 'en' }
const PASSWORD = 'a quiet green harbour'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

type World = {
  readonly user: MadeUser
  readonly application: MadeApplication
  readonly token: Connected
  readonly key: Connected
}

/** A user with a token set and an access key of one application. */
async function makeWorld(given: Partial<Pick<World, 'user' | 'application'>> = {}): Promise<World> {
  const { db } = service.context
  const holds = ['orders:read', 'orders:write']
  const user = given.user ?? (await makeUser(db, service.account.slug, { holds, password: PASSWORD }))
  const application = given.application ?? (await makeApplication(db, service.config, service.account.slug))
  await service.context.applications.refresh()
  const token = await connect(service, { user, application })
  const key = await connect(service, { user, application, variant: 'key' })
  for (const { credential } of [token, key]) expect((await askMe(service, credential)).status).toBe(200)
  return { user, application, token, key }
}

/** Whether both credentials work, and whether they can be renewed. */
async function alive({ application, token, key }: World): Promise<Record<string, boolean>> {
  await service.context.applications.refresh()
  await service.context.grantCache.pull()
  const [asked, askedKey] = [await askMe(service, token.credential), await askMe(service, key.credential)]
  const renewed = await refresh(service, application, token.refreshToken)
  const replaced = await postNative(service, application, '/auth/key/rotate', { access_key: key.credential })
  return {
    accessToken: asked.status === 200,
    refreshToken: renewed.status === 200,
    accessKey: askedKey.status === 200,
    rotation: replaced.status === 200,
  }
}

const ALL = { accessToken: true, refreshToken: true, accessKey: true, rotation: true }
const NONE = { accessToken: false, refreshToken: false, accessKey: false, rotation: false }
const KEYS_ONLY = { accessToken: false, refreshToken: false, accessKey: true, rotation: true }

async function changeIt({ user }: World): Promise<unknown> {
  const { context, config, account } = service
  const session = { id: randomUUID(), accountId: account.id, userId: user.id, lifetimeMs: config.sessionLifetimeMs }
  await context.db.transaction((tx) =>
    insertSession(tx, { ...session, keyId: 1, secondFactor: false, address: null, agent: null }),
  )
  const visit = await findAccountSession(context.db, account.slug, { id: session.id, idleMs: 60_000 })
  if (!visit?.sessionUser) throw new Error('nobody is there')
  const given = { current: PASSWORD, password: `${PASSWORD} 2`, again: `${PASSWORD} 2` }
  return changePassword(context, visit.account, visit.sessionUser, given, BROWSER)
}

async function recoverIt({ user }: World): Promise<unknown> {
  const about = { id: user.id, accountId: service.account.id }
  await service.context.db.transaction((tx) => createLink(tx, 'recovery', about))
  return choosePassword(user)
}

/** With the newest link of this user. */
async function choosePassword(user: MadeUser): Promise<unknown> {
  const { context, config, account, database } = service
  const [link] = await database.query<{ id: string }>(
    "select id from links where user_id = $1 and kind <> 'remove_grant' order by created_at desc limit 1",
    [user.id],
  )
  const visit = await findAccountSession(context.db, account.slug, { id: randomUUID(), idleMs: 60_000 })
  if (!link || !visit) throw new Error('there is no link')
  const password = `${PASSWORD} 3`
  const given = { link: signLink(config.keys, link.id, account.slug), password, again: password }
  return setPasswordByLink(context, visit.account, given, BROWSER)
}

describe('TK-16: a password', needs('password'), () => {
  it.each([
    ['that is changed', changeIt, 'changed'],
    ['that is recovered', recoverIt, 'signed_in'],
  ])('%s revokes the token sets of its user, and keeps the access keys', async (_what, change, outcome) => {
    const world = await makeWorld()
    const bystander = await makeWorld({ application: world.application })
    expect(await change(world)).toMatchObject({ outcome })
    expect(await alive(world)).toEqual(KEYS_ONLY)
    expect(await grantLine(service, world.token.grantId)).toMatchObject({ revocation_reason: 'password_changed' })
    expect(await grantEvents(service, world.token.grantId)).toEqual([
      { kind: 'grant.revoked', detail: { reason: 'password_changed' } },
    ])
    expect(await grantLine(service, world.key.grantId)).toMatchObject({ revocation_reason: null })
    expect(await mailsOf(service, world.user)).toContain('password_changed')
    expect(await alive(bystander), 'somebody else').toEqual(ALL)
  })

  it('that is wrong, given for a change, revokes nothing', async () => {
    const world = await makeWorld()
    await service.database.query('update users set password_digest = $2 where id = $1', [
      world.user.id,
      await digestPassword('another one altogether'),
    ])
    expect(await changeIt(world)).toMatchObject({ outcome: 'wrong' })
    expect(await alive(world)).toEqual(ALL)
  })

  const resets: [string, (user: MadeUser) => Promise<unknown>][] = [
    ['an administrator', (user) => sendPersonLink(service.context, service.user.id, user.id, 'en')],
    [
      'an administrator, who sent a second link because the first did not arrive,',
      async (user) => {
        await sendPersonLink(service.context, service.user.id, user.id, 'en')
        return sendPersonLink(service.context, service.user.id, user.id, 'en')
      },
    ],
    [
      'an operator, on the command line,',
      (user) =>
        createSetupLink(service.context.db, service.config, {
          account: service.account.slug,
          email: user.email,
          reset: true,
        }),
    ],
  ]

  it.each(resets)('that %s reset revokes them at the latest when the user sets a new one', async (_who, reset) => {
    const world = await makeWorld()
    expect(await reset(world.user)).toMatchObject({ outcome: expect.stringMatching(/^(sent|done)$/) })
    expect(await choosePassword(world.user)).toMatchObject({ outcome: 'signed_in' })
    expect(await alive(world)).toEqual(KEYS_ONLY)
    expect(await grantLine(service, world.token.grantId)).toMatchObject({ revocation_reason: expect.any(String) })
  })
})

describe('TK-16: a user', () => {
  it('who is disabled loses all access, and regains it when enabled again', async () => {
    const world = await makeWorld()
    await disablePerson(service.context, service.user.id, world.user.id)
    expect(await alive(world)).toEqual(NONE)
    expect(await sessionsOf(service, world.user)).toEqual([])
    for (const { grantId } of [world.token, world.key]) {
      expect(await grantLine(service, grantId)).toEqual({ generation: 1, key: 1, revocation_reason: null })
    }
    await enablePerson(service.context, service.user.id, world.user.id)
    expect(await alive(world)).toEqual(ALL)
  })

  it('who is disabled has no access even if a refresh runs at the same moment', async () => {
    for (let round = 0; round < 5; round += 1) {
      const world = await makeWorld()
      const refreshes = Array.from({ length: 8 }, () => refresh(service, world.application, world.token.refreshToken))
      await disablePerson(service.context, service.user.id, world.user.id)
      const answers = await Promise.all(refreshes)
      await service.context.grantCache.pull()
      for (const { body } of answers.filter(({ status }) => status === 200)) {
        expect((await askMe(service, body.access_token)).status).toBe(401)
        expect((await refresh(service, world.application, body.refresh_token)).status).toBe(400)
      }
    }
  })
})

describe('TK-16: an application', () => {
  it('that is suspended keeps its credentials, and gets no new ones', async () => {
    const world = await makeWorld()
    await suspendApplication(service.context.db, world.application.id, 'test')
    expect(await alive(world)).toEqual(ALL)
    const refused = await service.device('oauth', world.application).request()
    expect([refused.status, refused.body.error]).toEqual([403, 'application_suspended'])
  })

  it('that is suspended and revoked has no credentials, even after it is restored, and others keep theirs', async () => {
    const world = await makeWorld()
    const bystander = await makeWorld({ user: world.user })
    const suspended = await suspendApplication(service.context.db, world.application.id, 'test', true)
    expect(suspended).toMatchObject({ value: { revoked: 2 } })
    expect(await alive(world)).toEqual(NONE)
    for (const { grantId } of [world.token, world.key]) {
      expect(await grantLine(service, grantId)).toMatchObject({ revocation_reason: 'application_suspended' })
      expect(await grantEvents(service, grantId)).toEqual([
        { kind: 'grant.revoked', detail: { reason: 'application_suspended' } },
      ])
    }
    await restoreApplication(service.context.db, world.application.id, 'test')
    expect(await alive(world)).toEqual(NONE)
    expect(await alive(bystander), 'another application of the same user').toEqual(ALL)
  })

  it('that is deleted is unknown', async () => {
    const world = await makeWorld()
    await service.context.db.transaction(async (tx) => {
      await markApplicationChanged(tx, world.application.id)
      await tx.query('update applications set deleted_at = now() where id = $1', [world.application.id])
    })
    expect(await alive(world)).toEqual(NONE)
    const answer = await refresh(service, world.application, world.token.refreshToken)
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid_application'])
  })
})
