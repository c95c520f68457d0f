/**
 * AD-09: one person with two mailboxes. An operator who gives another user access as an operator, in whichever way, cannot confirm
 * with that user what they proposed, nor the other way round.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { disablePerson, invitePerson, sendPersonLink, setPersonRoles } from '../../../src/flows/accounts/people.ts'
import { confirmOperatorChange } from '../../../src/flows/operator/decide-change.ts'
import { confirmDecision } from '../../../src/flows/reviews/decide.ts'
import { findUser } from '../../../src/store/accounts/users.ts'
import { type MadeUser, makeUser } from '../../rig/make.ts'
import { Deciding } from '../../rig/scenes/deciding.ts'
import { Operators } from '../../rig/scenes/operators.ts'
import { signedFor, signInAs } from '../../rig/signed-in.ts'

let world: Deciding
let operators: Operators
beforeAll(async () => {
  world = await Deciding.start()
  operators = await Operators.of(world.service)
})
afterAll(() => world.service.stop())

/** Suspended because of reports, so that two operators are needed to lift it. */
beforeEach(async () => {
  await world.takeAnother()
  await world.report()
  expect(await world.decide({ reason: 'phishing', words: 'People were deceived.' })).toBe('decided')
})

const reinstate = async (by: MadeUser) => {
  expect(await world.decide({ decision: 'reinstate', reason: 'mistaken' }, by)).toBe('waits_for_second')
  return (await world.read()).decisions[0]?.id ?? ''
}
const confirm = async (by: MadeUser, decisionId: string) => {
  const result = await confirmDecision(world.service.context, by.id, decisionId)
  return 'problem' in result ? result.problem : result.outcome
}
const isSuspended = async () => (await world.read()).suspended

describe('AD-09: olga decides to lift a suspension, and then', () => {
  it('invites herself as a second operator: nobody is invited until another operator confirms', async () => {
    const decision = await reinstate(world.operator)
    const web = await signInAs(world.service, world.operator, { account: operators.account })
    await web.get('/account/people/invite')
    const email = 'olga.second@operators.example'
    const answer = await web.submit('/account/people/invite', {
      email,
      [`role.${operators.roles.administrator}`]: 'on',
    })
    expect(answer.text).toContain('Another operator must confirm this change')
    expect(await findUser(world.service.context.db, operators.account.id, email)).toBeNull()
    expect(await operators.confirmAll(world.operator)).toEqual(['own'])
    expect(await operators.confirmAll(world.second)).toEqual(['confirmed'])
    const second = await operators.find(email)
    // The confirmation page offers no button, and a forged form is refused.
    const other = await signInAs(world.service, second, { account: operators.account })
    const path = `/operator/application?application=${world.application.id}`
    expect((await other.get(path)).text).toContain('You became an operator after this was proposed')
    const bound = { application: world.application.id, decision }
    const form = await signedFor(world.service, second, '/operator/application/confirm', bound)
    expect((await other.send('POST', '/operator/application/confirm', form)).status).toBe(400)
    expect(await confirm(second, decision)).toBe('newer')
    expect(await isSuspended()).toBe(true)
  })

  it('uses an operator whom she had invited before', async () => {
    const second = await operators.invite(world.operator, world.second)
    expect(await confirm(second, await reinstate(world.operator))).toBe('access_from_proposer')
    expect(await isSuspended()).toBe(true)
  })

  it('uses an operator whose invitation, promotion, enabling or reset she had confirmed, either way round', async () => {
    const third = await operators.make()
    const [enabled, reset, clerk] = [await operators.make(), await operators.make(), await operators.makeClerk()]
    await disablePerson(world.service.context, third.id, enabled.id)
    await operators.enable(enabled, third, world.operator)
    await operators.reset(reset, third, world.operator)
    await operators.promote(clerk, third, world.operator)
    const invited = await operators.invite(third, world.operator)
    const decision = await reinstate(world.operator)
    for (const second of [invited, clerk, enabled, reset]) {
      expect(await confirm(second, decision)).toBe('access_from_proposer')
    }
    expect(await isSuspended()).toBe(true)
  })

  it('lets that operator decide, and confirms herself', async () => {
    const second = await operators.invite(world.operator, world.second)
    expect(await confirm(world.operator, await reinstate(second))).toBe('access_to_proposer')
    expect(await isSuspended()).toBe(true)
  })

  it('resets another operator, before or after', async () => {
    const before = await operators.make()
    await operators.reset(before, world.operator, world.second)
    const after = await operators.make()
    const decision = await reinstate(world.operator)
    await operators.reset(after, world.operator, world.second)
    expect([await confirm(before, decision), await confirm(after, decision)]).toEqual([
      'access_from_proposer',
      'access_from_proposer',
    ])
    expect(await isSuspended()).toBe(true)
  })

  it('enables a disabled operator, before or after', async () => {
    const [before, after] = [await operators.make(), await operators.make()]
    for (const each of [before, after]) await disablePerson(world.service.context, world.operator.id, each.id)
    await operators.enable(before, world.operator, world.second)
    const decision = await reinstate(world.operator)
    await operators.enable(after, world.operator, world.second)
    expect([await confirm(before, decision), await confirm(after, decision)]).toEqual(['access_from_proposer', 'newer'])
    expect(await isSuspended()).toBe(true)
  })

  it('promotes a colleague, before or after', async () => {
    const [before, after] = [await operators.makeClerk(), await operators.makeClerk()]
    await operators.promote(before, world.operator, world.second)
    const decision = await reinstate(world.operator)
    await operators.promote(after, world.operator, world.second)
    expect([await confirm(before, decision), await confirm(after, decision)]).toEqual(['access_from_proposer', 'newer'])
    expect(await isSuspended()).toBe(true)
  })

  it('promotes a user whom she invited as a clerk, with the proposal of another operator', async () => {
    const invited = await invitePerson(world.service.context, world.operator.id, {
      email: 'clerk.of.olga@operators.example',
      roleIds: [operators.roles.clerk],
      language: 'en',
    })
    expect(invited.outcome).toBe('invited')
    const clerk = await operators.find('clerk.of.olga@operators.example')
    const third = await operators.make()
    await operators.promote(clerk, world.second, third)
    expect(await confirm(clerk, await reinstate(world.operator))).toBe('access_from_proposer')
    expect(await isSuspended()).toBe(true)
  })

  it('has an operator of whom a reset is pending confirm', async () => {
    const third = await operators.make()
    const decision = await reinstate(world.operator)
    await sendPersonLink(world.service.context, world.second.id, third.id, 'en')
    expect(await confirm(third, decision)).toBe('change_pending')
    await operators.rejectAll(third)
    expect(await confirm(third, decision)).toBe('decided')
  })

  it('loses her role: what she proposed has no effect', async () => {
    const olga = await operators.make()
    const decision = await reinstate(olga)
    await setPersonRoles(world.service.context, world.second.id, olga.id, [operators.roles.clerk])
    expect(await confirm(world.second, decision)).toBe('proposer_left')
    expect(await isSuspended()).toBe(true)
  })
})

describe('AD-09: a new operator', () => {
  it('cannot confirm a change of operators that was proposed before', async () => {
    await operators.propose(world.operator)
    const newer = await makeUser(world.service.context.db, 'operators')
    expect(await operators.confirmAll(newer)).toEqual(['newer'])
    expect(await operators.rejectAll(newer)).toEqual(['declined'])
  })

  it('cannot be made by the database alone: its constraints refuse the same', async () => {
    const { query } = world.service.database
    await operators.propose(world.operator)
    const newer = await makeUser(world.service.context.db, 'operators')
    const set = (by: string) =>
      query(
        "update operator_changes set outcome = 'confirmed', decided_at = now(), decided_by = $1 where outcome is null",
        [by],
      )
    await expect(set(world.operator.id)).rejects.toThrow('operator_changes_second_is_another')
    await expect(set(newer.id)).rejects.toThrow('operator_changes_second_was_operator')
    await operators.rejectAll(world.operator)
    const decision = await reinstate(world.operator)
    const confirmed = 'update review_decisions set confirmed_at = now(), confirmed_by = $1 where id = $2'
    await expect(query(confirmed, [world.operator.id, decision])).rejects.toThrow('second_is_another')
    const newest = await makeUser(world.service.context.db, 'operators')
    await expect(query(confirmed, [newest.id, decision])).rejects.toThrow('review_decisions_second_was_operator')
  })

  it('is not made by a proposal of an administrator of another account', async () => {
    const { context, user } = world.service
    await operators.propose(world.operator)
    const [pending] = await operators.pending(world.operator)
    expect((await confirmOperatorChange(context, user.id, pending?.id ?? '')).outcome).toBe('forbidden')
    await operators.rejectAll(world.second)
  })
})
