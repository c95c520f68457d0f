/** An account always keeps an enabled administrator who can sign in, whatever its administrators do at the same moment. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { disablePerson, enablePerson, listPeople, setPersonRoles } from '../../src/flows/accounts/people.ts'
import { type MadeUser, makeStaffedAccount, makeUser, type StaffedAccount } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'

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

/** An administrator who can sign in. */
const makeAdministrator = async () => {
  const user = await makeUser(service.context.db, account.slug)
  await givePassword(user)
  return user
}
const makeClerk = () => makeUser(service.context.db, account.slug, { holds: ['orders:read'] })
const givePasskey = (user: MadeUser) =>
  service.database.query(
    `insert into passkeys (id, user_id, public_key, counter, transports, name, created_at)
     values ($1, $2, '\\x00', 0, '{}', 'Phone', now())`,
    [randomUUID(), user.id],
  )
const givePassword = (user: MadeUser) =>
  service.database.query("update users set password_digest = 'digest' where id = $1", [user.id])

describe('the last administrator', () => {
  const demote = (by: MadeUser, user: MadeUser) => setPersonRoles(service.context, by.id, user.id, [roles.clerk])
  const disable = (by: MadeUser, user: MadeUser) => disablePerson(service.context, by.id, user.id)
  const administrators = async () =>
    (await listPeople(service.context, account.id)).lines.filter((each) => each.administrator && !each.disabled).length

  it.each([
    ['lose the role', demote],
    ['be disabled', disable],
  ])('cannot %s', async (_, change) => {
    await makeClerk()
    const gone = await makeAdministrator()
    await disable(ann, gone)
    expect(await change(ann, ann)).toEqual({ outcome: 'last_administrator' })
    expect(await administrators()).toBe(1)
    await enablePerson(service.context, ann.id, gone.id)
    expect((await change(ann, ann)).outcome).toMatch(/saved|disabled/)
    expect(await administrators()).toBe(1)
  })

  it.each([
    ['lose the role', demote, givePassword],
    ['lose the role', demote, givePasskey],
    ['be disabled', disable, givePassword],
    ['be disabled', disable, givePasskey],
  ])('cannot %s while the other one has not signed in yet', async (_, change, comeIn) => {
    const invited = await makeUser(service.context.db, account.slug)
    expect(await change(ann, ann)).toEqual({ outcome: 'last_administrator' })
    await comeIn(invited)
    expect((await change(ann, ann)).outcome).toMatch(/saved|disabled/)
  })

  it('a disabled one may lose the role', async () => {
    const gone = await makeAdministrator()
    await disable(ann, gone)
    expect(await demote(ann, gone)).toEqual({ outcome: 'saved' })
  })

  it.each([
    ['take the role from themselves', demote, demote, 'self'],
    ['disable themselves', disable, disable, 'self'],
    ['take the role from each other', demote, demote, 'other'],
    ['disable each other', disable, disable, 'other'],
    ['go, one by role and one by being disabled', demote, disable, 'self'],
  ] as const)('when the last two %s at the same instant, one of them wins', async (_, first, second, whom) => {
    const ben = await makeAdministrator()
    for (let round = 0; round < 10; round += 1) {
      const results = await Promise.all([
        first(ann, whom === 'self' ? ann : ben),
        second(ben, whom === 'self' ? ben : ann),
      ])
      const outcomes = results.map(({ outcome }) => outcome)
      expect(outcomes.filter((outcome) => outcome === 'saved' || outcome === 'disabled')).toHaveLength(1)
      // An administrator who lost the role meanwhile is refused.
      expect(outcomes).toContain(whom === 'self' ? 'last_administrator' : 'forbidden')
      expect(await administrators()).toBe(1)
      await service.database.query('update users set disabled_at = null where account_id = $1', [account.id])
      await service.database.query('insert into user_roles select unnest($1::text[]), $2 on conflict do nothing', [
        [ann.id, ben.id],
        roles.administrator,
      ])
    }
  })
})
