/** docs/interface/device-flow.md, "The user decides": who may enter and decide a code. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { groupDigits } from '../../../src/core/device/user-code.ts'
import { grantDeviceCode, rejectDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { readDecision } from '../../../src/flows/device/read-decision.ts'
import type { SessionUser } from '../../../src/store/sign-in/sessions.ts'
import { type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { digestOf } from '../../rig/witness.ts'

let service: TestService
let stranger: MadeUser
let colleague: MadeUser
beforeAll(async () => {
  service = await startTestService()
  stranger = await makeUser(service.context.db, (await makeAccount(service.context.db)).slug)
  colleague = await makeUser(service.context.db, service.account.slug)
})
afterAll(() => service.stop())

const enter = (userCode: string, user: MadeUser) => enterUserCode(service.context, user.id, userCode)
const events = (userCode: string) =>
  service.database.query<{ kind: string; user_id: string }>(
    `select e.kind, e.user_id from audit_events e join device_codes d on d.id = e.device_code_id
     where d.user_code_digest = $1 order by e.id`,
    [digestOf(service, userCode)],
  )

async function claimed(user: MadeUser) {
  const code = await service.device().code({ scope: 'orders:read,orders:write' })
  const entered = await enter(code.user_code, user)
  if (entered.outcome !== 'claimed') throw new Error(entered.outcome)
  return { code, entered }
}

describe('entering a code', () => {
  it('claims it for the user and names the application', async () => {
    const { entered } = await claimed(service.user)
    expect(entered.code.claimedBy).toBe(service.user.id)
    expect(entered.application).toMatchObject({ id: service.application.id, name: expect.stringMatching(/^App/) })
  })

  it('is not recognised where the account has disabled codes', async () => {
    const { user_code } = await service.device().code()
    const [off] = await service.database.query<{ id: string }>(
      'update accounts set device_flow = false where id = (select account_id from users where id = $1) returning id',
      [stranger.id],
    )
    expect(await enter(user_code, stranger)).toEqual({ outcome: 'not_recognised' })
    await service.database.query('update accounts set device_flow = true where id = $1', [off?.id])
    expect((await enter(user_code, stranger)).outcome).toBe('claimed')
  })

  it('is not recognised when its application is deleted', async () => {
    const application = await makeApplication(service.context.db, service.config, service.account.slug)
    await service.context.applications.refresh()
    const { user_code } = await service.device('oauth', application).code()
    await service.database.query('update applications set deleted_at = now() where id = $1', [application.id])
    expect(await enter(user_code, service.user)).toEqual({ outcome: 'not_recognised' })
  })

  it('works with digits of any grouping and script', async () => {
    const { user_code } = await service.device().code()
    const arabic = user_code.replace(/\d/g, (digit) => String.fromCharCode(0x660 + Number(digit)))
    for (const typed of [groupDigits(user_code), user_code.replace(/(...)/g, '$1-'), ` ${arabic} `]) {
      expect((await enter(typed, service.user)).outcome).toBe('claimed')
    }
  })

  it('reports a mistyped code, and does not recognise an unknown one', async () => {
    const { user_code } = await service.device().code()
    const swapped = user_code.slice(0, -1) + ((Number(user_code.at(-1)) + 1) % 10)
    expect(await enter(swapped, service.user)).toEqual({ outcome: 'mistyped', digits: 9 })
    expect(await enter('  ', service.user)).toEqual({ outcome: 'empty' })
    expect(await enter('000000000', service.user)).toEqual({ outcome: 'not_recognised' })
  })

  it('UC-13: a user of another account closes the code, and nobody can grant it any more', async () => {
    const { code, entered } = await claimed(service.user)
    expect(await enter(code.user_code, stranger)).toEqual({ outcome: 'closed' })
    expect((await grantDeviceCode(service.context, service.user.id, entered.code)).outcome).toBe('not_open')
    expect(await events(code.user_code)).toEqual([
      { kind: 'code.claimed', user_id: service.user.id },
      { kind: 'code.closed', user_id: stranger.id },
      { kind: 'code.entered_elsewhere', user_id: service.user.id },
    ])
    const closing = "select actor_id from audit_events where kind = 'code.entered_elsewhere' and user_id = $1"
    expect(await service.database.query(closing, [service.user.id])).toEqual([{ actor_id: 'code-entry' }])
  })

  it('UC-13: the very next poll hears of it, whatever polls were told before, and then none', async () => {
    const { code } = await claimed(service.user)
    const heard = async () => (await service.device().poll(code.device_code)).body.error
    expect(await heard()).toBe('auth_pending')
    await enter(code.user_code, stranger)
    expect([await heard(), await heard()]).toEqual(['auth_expired', 'invalid'])
  })

  it('UC-13: its claimant and who closed it are told so at every attempt, also when the device was, and nobody else', async () => {
    const { code } = await claimed(service.user)
    const third = await makeUser(service.context.db, (await makeAccount(service.context.db)).slug)
    const told = async () => {
      const users = [stranger, service.user, third, colleague]
      return Promise.all(users.map(async (user) => (await enter(code.user_code, user)).outcome))
    }
    await enter(code.user_code, stranger)
    const expected = ['closed', 'closed', 'not_recognised', 'not_recognised']
    expect(await told()).toEqual(expected)
    await service.device().poll(code.device_code)
    expect(await told()).toEqual(expected)
  })

  it('a code that merely expired is told to nobody as closed', async () => {
    const { code } = await claimed(service.user)
    const past =
      "update device_codes set status = 'used', used_at = now(), entry_closed = true, outcome = 'expired', lease_id = gen_random_uuid(), leased_until = now() where user_code_digest = $1"
    await service.database.query(past, [digestOf(service, code.user_code)])
    expect((await enter(code.user_code, service.user)).outcome).toBe('not_recognised')
  })

  it('the consent page of a claimed code is closed once the account bars the application', async () => {
    const { entered } = await claimed(service.user)
    const { context, account, user, database } = service
    const session = { authenticatedAt: Date.now() }
    const view = () => readDecision(context, { id: user.id, session } as unknown as SessionUser, entered.code, null)
    expect((await view()).outcome).toBe('open')
    await database.query("update accounts set only_applications = '{}' where id = $1", [account.id])
    expect((await view()).outcome).toBe('closed')
    await database.query('update accounts set only_applications = null where id = $1', [account.id])
  })

  it('UC-06: a colleague sees that the code is taken, at every attempt, and the first user still grants it', async () => {
    const { code, entered } = await claimed(service.user)
    for (let tries = 0; tries < 2; tries += 1) {
      expect(await enter(code.user_code, colleague)).toEqual({ outcome: 'taken', offer: true })
    }
    expect((await grantDeviceCode(service.context, colleague.id, entered.code)).outcome).toBe('not_open')
    expect((await grantDeviceCode(service.context, service.user.id, entered.code)).outcome).toBe('granted')
    expect(await events(code.user_code)).toEqual([
      { kind: 'code.claimed', user_id: service.user.id },
      { kind: 'code.also_entered', user_id: colleague.id },
      { kind: 'code.also_entered', user_id: colleague.id },
      { kind: 'grant.created', user_id: service.user.id },
    ])
    expect((await service.device().poll(code.device_code)).status).toBe(200)
  })

  it('UC-25: a colleague continues instead of the first user, once per code, and the first user can do nothing any more', async () => {
    const { code, entered } = await claimed(service.user)
    const instead = ({ id }: MadeUser) =>
      enterUserCode(service.context, id, code.user_code, { kind: 'command_line' }, true)
    expect((await instead(colleague)).outcome).toBe('claimed')
    expect((await grantDeviceCode(service.context, service.user.id, entered.code)).outcome).toBe('not_open')
    expect((await rejectDeviceCode(service.context, service.user.id, entered.code)).outcome).toBe('not_open')
    expect((await service.device().poll(code.device_code)).body.error).toBe('auth_pending')
    expect(await instead(service.user)).toEqual({ outcome: 'taken', offer: false })
    expect((await instead(colleague)).outcome, 'of their own code nothing is taken over').toBe('claimed')
    expect((await grantDeviceCode(service.context, colleague.id, entered.code)).outcome).toBe('granted')
    expect(await events(code.user_code)).toEqual([
      { kind: 'code.claimed', user_id: service.user.id },
      { kind: 'code.taken_over', user_id: colleague.id },
      { kind: 'code.also_entered', user_id: service.user.id },
      { kind: 'code.claimed', user_id: colleague.id },
      { kind: 'grant.created', user_id: colleague.id },
    ])
  })

  it('UC-25: of two colleagues who take over at the same moment, one does', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { code } = await claimed(service.user)
      const others = [colleague, await makeUser(service.context.db, service.account.slug)]
      const results = await Promise.all(
        others.map(({ id }) => enterUserCode(service.context, id, code.user_code, { kind: 'command_line' }, true)),
      )
      expect(results.map(({ outcome }) => outcome).sort()).toEqual(['claimed', 'taken'])
    }
  })

  it('UC-25: a user of another account takes nothing over: that closes the code', async () => {
    const { code } = await claimed(service.user)
    const entered = await enterUserCode(service.context, stranger.id, code.user_code, { kind: 'command_line' }, true)
    expect(entered.outcome).toBe('closed')
  })

  it('is refused for a disabled user', async () => {
    const gone = await makeUser(service.context.db, service.account.slug)
    await service.database.query('update users set disabled_at = now() where id = $1', [gone.id])
    expect((await enter((await service.device().code()).user_code, gone)).outcome).toBe('not_recognised')
  })
})

describe('deciding', () => {
  it('UC-05: needs the claim: a user who did not enter the code can neither grant nor reject it', async () => {
    const { code, entered } = await claimed(service.user)
    for (const user of [stranger, colleague]) {
      expect((await grantDeviceCode(service.context, user.id, entered.code)).outcome).toBe('not_open')
      expect((await rejectDeviceCode(service.context, user.id, entered.code)).outcome).toBe('not_open')
    }
    expect((await grantDeviceCode(service.context, service.user.id, entered.code)).outcome).toBe('granted')
    expect((await events(code.user_code)).at(-1)).toEqual({ kind: 'grant.created', user_id: service.user.id })
  })

  it.each([
    ['grant', grantDeviceCode, [200, undefined]],
    ['reject', rejectDeviceCode, [400, 'auth_rejected']],
  ] as const)('is heard by the very next poll, whatever polls were told before: %s', async (_name, decide, heard) => {
    const { code, entered } = await claimed(service.user)
    expect((await service.device().poll(code.device_code)).body.error).toBe('auth_pending')
    await decide(service.context, service.user.id, entered.code)
    const answer = await service.device().poll(code.device_code)
    expect([answer.status, answer.body.error]).toEqual(heard)
  })

  it('DC-06: is final: no decision can follow another', async () => {
    for (const first of [grantDeviceCode, rejectDeviceCode]) {
      const { entered } = await claimed(service.user)
      await first(service.context, service.user.id, entered.code)
      for (const second of [grantDeviceCode, rejectDeviceCode]) {
        expect((await second(service.context, service.user.id, entered.code)).outcome).toBe('not_open')
      }
    }
  })
})
