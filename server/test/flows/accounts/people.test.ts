/** The users of an account: invitations, roles, disabling, recovery. For the last administrator see last-administrator.test.ts. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  disablePerson,
  enablePerson,
  invitePerson,
  listPeople,
  readPerson,
  sendPersonLink,
  setPersonRoles,
} from '../../../src/flows/accounts/people.ts'
import { type MadeUser, makeStaffedAccount, makeUser, type StaffedAccount } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
let account: StaffedAccount['account']
let ann: MadeUser
let roles: StaffedAccount['roles']
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
})
afterAll(() => service.stop())
beforeEach(async () => {
  ;({ account, roles } = await makeStaffedAccount(service.context.db))
  ann = await makeAdministrator()
})

/** A user who can sign in. */
const makeAdministrator = async () => {
  const user = await makeUser(service.context.db, account.slug)
  await service.database.query("update users set password_digest = 'digest' where id = $1", [user.id])
  return user
}
const makeClerk = () => makeUser(service.context.db, account.slug, { holds: ['orders:read'] })
const read = (user: { id: string }) => readPerson(service.context, account.id, user.id)
const events = (kind: string) =>
  service.database.query<{ user_id: string; by: string; detail: object }>(
    'select user_id, actor_id as by, detail from audit_events where account_id = $1 and kind = $2 order by id',
    [account.id, kind],
  )

/** Queued mails and the link in each. */
const outbox = () =>
  service.database.query(
    `select m.user_id, m.kind, m.language, m.detail, l.kind as link from mails m join links l on l.id = m.link_id
     where m.account_id = $1 and l.user_id = m.user_id and l.used_at is null order by m.id`,
    [account.id],
  )
const invite = (person: { email: string; roleIds: readonly string[] }, by: MadeUser = ann) =>
  invitePerson(service.context, by.id, { ...person, language: 'de' })
const sendLink = (user: MadeUser, by: MadeUser = ann) => sendPersonLink(service.context, by.id, user.id, 'de')

/** Makes every insert into the outbox fail from now on. */
const breakOutbox = () => service.database.query('alter table mails add constraint broken check (false) not valid')
const mendOutbox = () => service.database.query('alter table mails drop constraint broken')

/** A password, a passkey, an authenticator and two sessions. */
async function settleIn(user: { id: string }): Promise<void> {
  const { query } = service.database
  await query("update users set password_digest = 'digest' where id = $1", [user.id])
  await query(
    `insert into passkeys (id, user_id, public_key, counter, transports, name, created_at)
     values ($1, $2, '\\x00', 0, '{}', 'Phone', now())`,
    [randomUUID(), user.id],
  )
  await query('insert into authenticators (user_id, id, key_id, last_step, created_at) values ($1, $2, 1, 0, now())', [
    user.id,
    randomUUID(),
  ])
  await query(
    `insert into sessions (id, account_id, user_id, key_id, created_at, authenticated_at, last_used_at, expires_at)
     select gen_random_uuid(), account_id, id, 1, now(), now(), now(), now() + interval '1 day'
     from users, generate_series(1, 2) where id = $1`,
    [user.id],
  )
}
const sessionsOf = async (user: { id: string }) =>
  (await service.database.query('select id from sessions where user_id = $1', [user.id])).length

describe('the list of users', () => {
  it('has all users of the account, with roles and status', async () => {
    const [clerk, gone] = [await makeClerk(), await makeClerk()]
    await makeUser(service.context.db, service.account.slug)
    await settleIn(ann)
    await disablePerson(service.context, ann.id, gone.id)
    const { lines: people } = await listPeople(service.context, account.id)
    expect(people.map(({ id, status }) => [id, status]).sort()).toEqual(
      [
        [ann.id, 'active'],
        [clerk.id, 'invited'],
        [gone.id, 'disabled'],
      ].sort(),
    )
    expect(people.map((each) => each.email)).toEqual(people.map((each) => each.email).sort())
    expect(await read(ann)).toMatchObject({
      administrator: true,
      roles: [{ id: roles.administrator, name: 'administrator' }],
      factors: { password: true, passkeys: 1, authenticator: true },
    })
    expect(await read(clerk)).toMatchObject({
      administrator: false,
      factors: { password: false, passkeys: 0, authenticator: false },
    })
  })

  it('shows a user with a passkey only as active', async () => {
    await settleIn(ann)
    await service.database.query('update users set password_digest = null where id = $1', [ann.id])
    expect((await read(ann))?.status).toBe('active')
  })
})

describe('inviting', () => {
  it('adds a user without a password, with a normalised address, and sends the link', async () => {
    const result = await invite({ email: ' New@Acme.Example ', roleIds: [roles.clerk, roles.clerk] })
    if (result.outcome !== 'invited') throw new Error(result.outcome)
    const { userId } = result
    expect(await read({ id: userId })).toMatchObject({
      email: 'new@acme.example',
      status: 'invited',
      roles: [{ id: roles.clerk }],
    })
    expect(await outbox()).toEqual([
      { user_id: userId, kind: 'invitation', language: 'de', detail: { by: ann.email }, link: 'invitation' },
    ])
    expect(await events('user.invited')).toEqual([{ user_id: userId, by: ann.id, detail: { roles: [roles.clerk] } }])
  })

  it.each([
    ['email', () => ({ email: 'nobody', roleIds: [roles.clerk] })],
    ['email', () => ({ email: 'a@b.example\r\nBcc: c@d.example', roleIds: [roles.clerk] })],
    ['exists', () => ({ email: ann.email.toUpperCase(), roleIds: [roles.clerk] })],
    ['role', () => ({ email: 'new@acme.example', roleIds: [] })],
    ['not_found', () => ({ email: 'new@acme.example', roleIds: [roles.clerk, 'rol_000000000000'] })],
  ] as const)('answers %s, adds nobody and sends nothing', async (outcome, person) => {
    expect(await invite(person())).toEqual({ outcome })
    expect(await outbox()).toEqual([])
    expect((await listPeople(service.context, account.id)).lines).toHaveLength(1)
    expect(await events('user.invited')).toEqual([])
  })

  it('the same address may be known to another account', async () => {
    const other = await makeUser(service.context.db, service.account.slug)
    expect(await invite({ email: other.email, roleIds: [roles.clerk] })).toMatchObject({ outcome: 'invited' })
  })

  it('adds nobody when the mail cannot be inserted', async () => {
    await breakOutbox()
    const invitation = invite({ email: 'new@acme.example', roleIds: [roles.clerk] })
    await expect(invitation.finally(mendOutbox)).rejects.toThrow('broken')
    expect((await listPeople(service.context, account.id)).lines).toHaveLength(1)
  })

  it('is limited to a hundred per hour and account: the next one adds nobody and sends nothing', async () => {
    await service.database.query(
      `insert into mails (kind, account_id, user_id, language, created_at, due_at)
       select 'invitation', $1, $2, 'en', now() - interval '59 minutes', now() from generate_series(1, 99)`,
      [account.id, ann.id],
    )
    const next = (email: string) => invite({ email, roleIds: [roles.clerk] })
    expect(await next('hundredth@acme.example')).toMatchObject({ outcome: 'invited' })
    expect(await next('next@acme.example')).toEqual({ outcome: 'too_many' })
    expect((await listPeople(service.context, account.id)).lines).toHaveLength(2)
    expect(await outbox()).toHaveLength(1)
    await service.database.query("update mails set created_at = created_at - interval '1 minute'")
    expect(await next('next@acme.example')).toMatchObject({ outcome: 'invited' })
  })

  it('adds the user once for two invitations of one address at the same moment', async () => {
    const person = { email: 'new@acme.example', roleIds: [roles.clerk] }
    const results = await Promise.all([1, 2].map(() => invite(person)))
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['exists', 'invited'])
    expect(await outbox()).toHaveLength(1)
  })
})

describe('the roles of a user', () => {
  const give = (by: MadeUser, user: MadeUser, roleIds: readonly string[]) =>
    setPersonRoles(service.context, by.id, user.id, roleIds)

  it('are replaced, and the change is recorded once', async () => {
    const clerk = await makeClerk()
    const [before] = (await read(clerk))?.roles ?? []
    expect(await give(ann, clerk, [roles.clerk, roles.administrator])).toEqual({ outcome: 'saved' })
    expect(await give(ann, clerk, [roles.administrator, roles.clerk])).toEqual({ outcome: 'saved' })
    expect((await read(clerk))?.roles.map((role) => role.name)).toEqual(['administrator', 'clerk'])
    const added = [roles.administrator, roles.clerk]
    expect(await events('user.roles_changed')).toEqual([
      { user_id: clerk.id, by: ann.id, detail: { added, removed: [before?.id] } },
    ])
  })

  it('are at least one', async () => {
    const clerk = await makeClerk()
    expect(await give(ann, clerk, [])).toEqual({ outcome: 'role' })
    expect((await read(clerk))?.roles).toHaveLength(1)
  })

  it('an administrator who keeps the role may be given others', async () => {
    expect(await give(ann, ann, [roles.clerk, roles.administrator])).toEqual({ outcome: 'saved' })
  })
})

describe('disabling', () => {
  it('ends all sessions; enabling allows to sign in again, with the same methods', async () => {
    const clerk = await makeClerk()
    for (const user of [ann, clerk]) await settleIn(user)
    expect(await disablePerson(service.context, ann.id, clerk.id)).toEqual({ outcome: 'disabled' })
    expect(await disablePerson(service.context, ann.id, clerk.id)).toEqual({ outcome: 'disabled' })
    expect([await sessionsOf(clerk), await sessionsOf(ann)]).toEqual([0, 2])
    expect(await events('user.disabled')).toEqual([{ user_id: clerk.id, by: ann.id, detail: {} }])
    expect(await enablePerson(service.context, ann.id, clerk.id)).toEqual({ outcome: 'enabled' })
    expect(await enablePerson(service.context, ann.id, clerk.id)).toEqual({ outcome: 'enabled' })
    expect(await read(clerk)).toMatchObject({ status: 'active', factors: { password: true, passkeys: 1 } })
    expect(await events('user.enabled')).toEqual([{ user_id: clerk.id, by: ann.id, detail: {} }])
  })

  it('invalidates links sent before, also after the user is enabled again', async () => {
    const clerk = await makeClerk()
    for (const user of [ann, clerk]) await sendLink(user)
    await disablePerson(service.context, ann.id, clerk.id)
    await enablePerson(service.context, ann.id, clerk.id)
    expect(await outbox()).toMatchObject([{ user_id: ann.id }])
  })
})

describe('sending a recovery link', () => {
  it('ends all sessions, methods and older links of the user, and of nobody else', async () => {
    const clerk = await makeClerk()
    for (const user of [ann, clerk]) await settleIn(user)
    await service.database.query(
      `insert into links (id, kind, account_id, user_id, created_at, expires_at)
       select gen_random_uuid(), 'recovery', account_id, id, now(), now() + interval '1 hour' from users
       where account_id = $1`,
      [account.id],
    )
    await service.database.query("update users set language = 'ar' where id = $1", [clerk.id])
    expect(await sendLink(clerk)).toEqual({ outcome: 'sent' })
    expect(await outbox()).toEqual([
      { user_id: clerk.id, kind: 'reset', language: 'ar', detail: { by: ann.email }, link: 'recovery' },
    ])
    expect((await read(clerk))?.factors).toEqual({ password: false, passkeys: 0, authenticator: false })
    expect((await read(ann))?.factors).toEqual({ password: true, passkeys: 1, authenticator: true })
    expect([await sessionsOf(clerk), await sessionsOf(ann)]).toEqual([0, 2])
    const links = await service.database.query<{ user_id: string }>(
      'select user_id, id in (select link_id from mails where link_id is not null) as sent from links where account_id = $1 and used_at is null',
      [account.id],
    )
    expect(links).toHaveLength(2)
    expect(links).toEqual(
      expect.arrayContaining([
        { user_id: ann.id, sent: false },
        { user_id: clerk.id, sent: true },
      ]),
    )
    expect(await events('user.reset')).toEqual([{ user_id: clerk.id, by: ann.id, detail: {} }])
  })

  it('to an invited user is another invitation', async () => {
    const clerk = await makeClerk()
    for (const _ of [1, 2]) await sendLink(clerk)
    // The first link is invalid: two mails, one valid link.
    expect(await outbox()).toMatchObject([
      { user_id: clerk.id, kind: 'invitation', language: 'de', link: 'invitation' },
    ])
  })

  it('is limited to three per hour; the fourth changes nothing', async () => {
    const clerk = await makeClerk()
    for (const [round, kind] of ['invitation', 'reset', 'invitation'].entries()) {
      if (kind === 'reset') await settleIn(clerk)
      expect([round, await sendLink(clerk)]).toEqual([round, { outcome: 'sent' }])
    }
    await settleIn(clerk)
    expect(await sendLink(clerk)).toEqual({ outcome: 'too_many' })
    expect((await read(clerk))?.factors).toEqual({ password: true, passkeys: 1, authenticator: true })
    expect([await sessionsOf(clerk), (await events('user.reset')).length]).toEqual([2, 3])
    await service.database.query("update mails set created_at = created_at - interval '1 hour'")
    expect(await sendLink(clerk)).toEqual({ outcome: 'sent' })
  })

  it('counts the invitation itself', async () => {
    const invited = await invite({ email: 'new@acme.example', roleIds: [roles.clerk] })
    if (invited.outcome !== 'invited') throw new Error(invited.outcome)
    const results: string[] = []
    for (const _ of [1, 2, 3]) results.push((await sendLink({ id: invited.userId, email: '' })).outcome)
    expect(results).toEqual(['sent', 'sent', 'too_many'])
  })

  it('is refused for a disabled user, and changes nothing when the mail cannot be inserted', async () => {
    const clerk = await makeClerk()
    await settleIn(clerk)
    await breakOutbox()
    await expect(sendLink(clerk).finally(mendOutbox)).rejects.toThrow('broken')
    await disablePerson(service.context, ann.id, clerk.id)
    expect(await sendLink(clerk)).toEqual({ outcome: 'disabled' })
    expect(await outbox()).toEqual([])
    expect((await read(clerk))?.factors).toEqual({ password: true, passkeys: 1, authenticator: true })
  })
})

describe('permission to do so', () => {
  it.each([
    ['who holds scopes only', makeClerk],
    [
      'who was disabled',
      async () => {
        const gone = await makeAdministrator()
        await disablePerson(service.context, ann.id, gone.id)
        return gone
      },
    ],
    [
      'who was an administrator before',
      async () => {
        const former = await makeAdministrator()
        await setPersonRoles(service.context, ann.id, former.id, [roles.clerk])
        return former
      },
    ],
  ])('nobody %s, not even about themselves', async (_, make) => {
    const by = await make()
    await settleIn(by)
    const before = await read(by)
    for (const userId of [by.id, ann.id]) {
      const person = { email: 'new@acme.example', roleIds: [roles.administrator] }
      const outcomes = [
        await invite(person, by),
        await setPersonRoles(service.context, by.id, userId, [roles.administrator]),
        await disablePerson(service.context, by.id, userId),
        await enablePerson(service.context, by.id, userId),
        await sendPersonLink(service.context, by.id, userId, 'en'),
      ]
      expect(outcomes).toEqual(outcomes.map(() => ({ outcome: 'forbidden' })))
    }
    expect(await read(by)).toEqual(before)
  })
})
