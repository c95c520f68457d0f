/** An address is confirmed by a link that was mailed to it since it was last changed, and by nothing else. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { saveHostProfile } from '../../../src/store/accounts/users.ts'
import { CHOSEN_PASSWORD, followLink, linkFor, makeInvitedUser } from '../../rig/mailed-link.ts'
import { type MadeUser, makeUser } from '../../rig/make.ts'
import { needs } from '../../rig/origins/needs.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

describe('of Latchkey’s own users', needs('password'), () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService({ LOG_LEVEL: 'silent' })
  })
  afterAll(() => service.stop())

  const someUser = (given: { email?: string } = {}) =>
    makeUser(service.context.db, service.account.slug, { password: CHOSEN_PASSWORD, ...given })

  async function isConfirmed({ id }: MadeUser): Promise<boolean> {
    const [row] = await service.database.query<{ confirmed: boolean }>(
      'select email_confirmed_at is not null as confirmed from users where id = $1',
      [id],
    )
    return row?.confirmed === true
  }

  /** As the host service and the identity provider do: older links stay valid. */
  const changeAddress = ({ id }: MadeUser, email: string) =>
    service.context.db.transaction((tx) => saveHostProfile(tx, id, { email, name: null, permissions: [] }))

  it.each([
    ['invitation', true],
    ['recovery', true],
    ['sign_in', true],
    ['setup', false],
  ] as const)('a link of the kind %s confirms it: %s', async (kind, confirms) => {
    const user = await someUser()
    expect(await isConfirmed(user)).toBe(false)
    const link = await linkFor(service, service.account, user, kind)
    expect(await isConfirmed(user), 'not before it is used').toBe(false)
    await followLink(service.web(), link, kind)
    expect(await isConfirmed(user)).toBe(confirms)
  })

  it('signing in with the password does not confirm it', async () => {
    const user = await someUser()
    const web = service.web()
    await web.signIn(user.email, CHOSEN_PASSWORD)
    expect([web.last?.status, await isConfirmed(user)]).toEqual([200, false])
  })

  it('a change unconfirms it, by whomever and also if it is changed back', async () => {
    const { user } = await makeInvitedUser(service, service.account)
    expect(await isConfirmed(user)).toBe(true)
    for (const email of ['other@elsewhere.example', user.email]) {
      await service.database.query('update users set email = $2 where id = $1', [user.id, email])
    }
    expect(await isConfirmed(user)).toBe(false)
  })

  it('a link that was mailed before the last change confirms nothing, also if the address is the same again', async () => {
    const user = await someUser()
    const before = await linkFor(service, service.account, user, 'sign_in')
    await changeAddress(user, 'somebody-else@elsewhere.example')
    const between = await linkFor(service, service.account, user, 'sign_in')
    await changeAddress(user, user.email)
    for (const link of [before, between]) await followLink(service.web(), link, 'sign_in')
    expect(await isConfirmed(user)).toBe(false)
    await followLink(service.web(), await linkFor(service, service.account, user, 'sign_in'), 'sign_in')
    expect(await isConfirmed(user)).toBe(true)
    await changeAddress(user, user.email)
    expect(await isConfirmed(user), 'the same address is no change').toBe(true)
  })
})
