/** Changes of operators: proposed by one, confirmed by another; or made alone on the command line. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  disablePerson,
  enablePerson,
  invitePerson,
  readPerson,
  sendPersonLink,
  setPersonRoles,
} from '../../../src/flows/accounts/people.ts'
import { createSetupLink, setUpAccount } from '../../../src/flows/accounts/set-up.ts'
import { updateUser } from '../../../src/flows/accounts/update.ts'
import { confirmOperatorChange, rejectOperatorChange } from '../../../src/flows/operator/decide-change.ts'
import { sweep } from '../../../src/flows/sweep.ts'
import { markOperatorsAccount } from '../../../src/store/accounts/accounts.ts'
import { byCommandLine, createUser } from '../../rig/create.ts'
import { type MadeUser, makeAccount } from '../../rig/make.ts'
import { Operators } from '../../rig/scenes/operators.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const DAY = 24 * 3_600_000

let service: TestService
let operators: Operators
let olga: MadeUser
let omar: MadeUser
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' }, { clock: true, listen: false })
  await makeAccount(service.context.db, { slug: 'operators' })
  operators = await Operators.of(service)
  olga = await operators.make()
  omar = await operators.make()
})
afterAll(() => service.stop())
beforeEach(async () => {
  await operators.rejectAll(olga)
  await service.database.query('delete from mails')
})

const read = (user: { id: string }) => readPerson(service.context, operators.account.id, user.id)
const eventsSince = async (work: () => Promise<unknown>) => {
  const last = 'select coalesce(max(id), 0) as id from audit_events'
  const [before] = await service.database.query<{ id: string }>(last)
  await work()
  return service.database.query<{ kind: string; by: string; via: string; user_id: string | null; detail: object }>(
    'select kind, actor_id as by, via, user_id, detail from audit_events where id > $1 order by id',
    [before?.id],
  )
}
const kindsSince = async (work: () => Promise<unknown>) => (await eventsSince(work)).map(({ kind, by }) => [kind, by])
/** Mails about operators: recipient and what it says. */
const mails = () =>
  service.database.query<{ to: string; what: string; change: string }>(
    `select user_id as to, detail->>'what' as what, detail->>'change' as change from mails where kind = 'operator_change'
     order by detail->>'what' desc, user_id`,
  )
const operatorIds = async () =>
  (
    await service.database.query<{ id: string }>(
      `select u.id from users u where account_id = $1 and disabled_at is null
         and exists (select from user_roles ur join roles r on r.id = ur.role_id where ur.user_id = u.id and r.holds_every_scope)
       order by u.id`,
      [operators.account.id],
    )
  ).map(({ id }) => id)
const pendingId = async () => (await operators.pending(olga))[0]?.id ?? ''

describe('a change of operators', () => {
  it('takes effect when another operator confirms it; both are recorded, and all operators are told of both steps', async () => {
    const told = await operatorIds()
    let email = ''
    expect(
      await kindsSince(async () => {
        email = await operators.propose(olga)
      }),
    ).toEqual([['operator.proposed', olga.id]])
    await expect(operators.find(email)).rejects.toThrow()
    expect((await mails()).map(({ to, what }) => [to, what])).toEqual(told.map((id) => [id, 'proposed']))

    expect(await kindsSince(() => operators.confirmAll(omar))).toEqual([
      ['user.invited', omar.id],
      ['operator.confirmed', omar.id],
    ])
    const made = await operators.find(email)
    expect(await read(made)).toMatchObject({ administrator: true, status: 'invited' })
    expect((await mails()).map(({ to, what }) => [to, what])).toEqual([
      ...told.map((id) => [id, 'proposed']),
      ...told.map((id) => [id, 'confirmed']),
    ])
    const invitation = await service.database.query(
      "select detail from mails where user_id = $1 and kind = 'invitation'",
      [made.id],
    )
    expect(invitation).toEqual([{ detail: { by: olga.email } }])
    expect(await operators.pending(olga)).toEqual([])
  })

  it('promotes, enables and resets only then', async () => {
    const clerk = await operators.makeClerk()
    await setPersonRoles(service.context, olga.id, clerk.id, [operators.roles.administrator])
    expect((await read(clerk))?.administrator).toBe(false)
    expect(await operators.confirmAll(omar)).toEqual(['confirmed'])
    expect((await read(clerk))?.administrator).toBe(true)

    await disablePerson(service.context, olga.id, clerk.id)
    await enablePerson(service.context, olga.id, clerk.id)
    expect((await read(clerk))?.disabled).toBe(true)
    expect(await operators.confirmAll(omar)).toEqual(['confirmed'])
    expect((await read(clerk))?.disabled).toBe(false)

    await service.database.query("update users set password_digest = 'digest' where id = $1", [clerk.id])
    await sendPersonLink(service.context, olga.id, clerk.id, 'en')
    expect((await read(clerk))?.factors.password).toBe(true)
    expect(await kindsSince(() => operators.confirmAll(omar))).toEqual([
      ['user.reset', omar.id],
      ['operator.confirmed', omar.id],
    ])
    expect((await read(clerk))?.factors.password).toBe(false)
  })

  it('is not needed for users who are no operators, nor to take access away', async () => {
    const { context } = service
    const clerk = await operators.makeClerk()
    expect((await sendPersonLink(context, olga.id, clerk.id, 'en')).outcome).toBe('sent')
    await disablePerson(context, olga.id, clerk.id)
    expect((await enablePerson(context, olga.id, clerk.id)).outcome).toBe('enabled')
    const person = { email: 'plain@operators.example', roleIds: [operators.roles.clerk], language: 'en' }
    expect((await invitePerson(context, olga.id, person)).outcome).toBe('invited')
    const third = await operators.make()
    expect((await setPersonRoles(context, olga.id, third.id, [operators.roles.clerk])).outcome).toBe('saved')
    expect(await operators.pending(olga)).toEqual([])
  })

  it('takes effect once when two operators confirm at the same moment', async () => {
    const third = await operators.make()
    for (let round = 0; round < 5; round += 1) {
      const email = await operators.propose(olga)
      const id = await pendingId()
      const outcomes = await Promise.all(
        [omar, third, omar, third].map(async (by) => (await confirmOperatorChange(service.context, by.id, id)).outcome),
      )
      expect(outcomes.sort()).toEqual(['confirmed', 'not_found', 'not_found', 'not_found'])
      const invited = await service.database.query(
        `select m.id from mails m join users u on u.id = m.user_id where u.email = $1 and m.kind = 'invitation'`,
        [email],
      )
      expect(invited).toHaveLength(1)
    }
  })

  it('is either confirmed or withdrawn when both happen at the same moment', async () => {
    for (let round = 0; round < 5; round += 1) {
      const email = await operators.propose(olga)
      const id = await pendingId()
      const [confirmed, withdrawn] = await Promise.all([
        confirmOperatorChange(service.context, omar.id, id),
        rejectOperatorChange(service.context, olga.id, id),
      ])
      const both = [confirmed.outcome, withdrawn.outcome]
      expect([
        ['confirmed', 'not_found'],
        ['not_found', 'withdrawn'],
      ]).toContainEqual(both)
      const found = await operators.find(email).catch(() => null)
      expect(found !== null).toBe(confirmed.outcome === 'confirmed')
    }
  })

  it('is proposed once when two operators propose it at the same moment', async () => {
    const clerk = await operators.makeClerk()
    const outcomes = await Promise.all(
      [olga, omar].map(
        async (by) => (await setPersonRoles(service.context, by.id, clerk.id, [operators.roles.administrator])).outcome,
      ),
    )
    expect(outcomes.sort()).toEqual(['already_proposed', 'proposed'])
  })

  it('is withdrawn by its proposer and declined by anybody else, and then cannot be confirmed', async () => {
    for (const [by, outcome] of [
      [olga, 'withdrawn'],
      [omar, 'declined'],
    ] as const) {
      await operators.propose(olga)
      const id = await pendingId()
      expect(await kindsSince(() => operators.rejectAll(by))).toEqual([[`operator.${outcome}`, by.id]])
      expect((await confirmOperatorChange(service.context, omar.id, id)).outcome).toBe('not_found')
    }
  })

  it('expires after a week', async () => {
    await operators.propose(olga)
    const id = await pendingId()
    await service.database.advance(7 * DAY - 60_000)
    expect(await pendingId()).toBe(id)
    await service.database.advance(120_000)
    expect(await operators.pending(omar)).toEqual([])
    expect((await confirmOperatorChange(service.context, omar.id, id)).outcome).toBe('not_found')
    const events = await eventsSince(() => sweep(service.context.db, service.config))
    expect(events.filter(({ kind }) => kind === 'operator.expired')).toMatchObject([
      { by: 'operator-changes', via: 'job', detail: { operatorChange: id, change: 'create' } },
    ])
  })

  it('can be proposed again after it expired, also before the sweep', async () => {
    const clerk = await operators.makeClerk()
    const propose = async () =>
      (await setPersonRoles(service.context, olga.id, clerk.id, [operators.roles.administrator])).outcome
    expect([await propose(), await propose()]).toEqual(['proposed', 'already_proposed'])
    await service.database.advance(8 * DAY)
    expect(await propose()).toBe('proposed')
  })

  it('no longer applies to a user who was changed meanwhile', async () => {
    const { context } = service
    const third = await operators.make()
    await sendPersonLink(context, olga.id, third.id, 'en')
    await setPersonRoles(context, olga.id, third.id, [operators.roles.clerk])
    expect(await operators.confirmAll(omar)).toEqual(['stale'])
    await operators.rejectAll(omar)

    const email = await operators.propose(olga)
    await createUser(context.db, { account: 'operators', email, roles: ['administrator'], password: null })
    expect(await operators.confirmAll(omar)).toEqual(['stale'])
  })

  it('is not proposed by the only operator, who is sent to the command line', async () => {
    const lone = await startTestService({}, { operators: true, listen: false })
    try {
      const roles = await lone.database.query<{ id: string }>('select id from roles where holds_every_scope')
      const person = { email: 'second@operators.example', roleIds: [roles[0]?.id ?? ''], language: 'en' }
      expect(await invitePerson(lone.context, lone.user.id, person)).toEqual({ outcome: 'only_operator' })
    } finally {
      await lone.stop()
    }
  })

  it('is not proposed if no other operator could confirm it', async () => {
    const pair = await startTestService({ OPERATOR_ACCOUNT: 'operators' }, { listen: false })
    try {
      await makeAccount(pair.context.db, { slug: 'operators' })
      const two = await Operators.of(pair)
      const [one, other] = [await two.make(), await two.make()]
      const person = { email: 'third@operators.example', roleIds: [two.roles.administrator], language: 'en' }
      const refused = { outcome: 'only_operator' }
      expect(await sendPersonLink(pair.context, one.id, other.id, 'en'), 'the other one is reset').toEqual(refused)
      await pair.database.query('update users set invited_by = array[$2] where id = $1', [other.id, one.id])
      expect(await invitePerson(pair.context, one.id, person), 'the other one was invited').toEqual(refused)
      expect(await invitePerson(pair.context, other.id, person), 'by the other one').toEqual(refused)
      const third = await two.make()
      expect(await invitePerson(pair.context, one.id, person)).toEqual({ outcome: 'proposed' })
      expect(await two.confirmAll(third)).toEqual(['confirmed'])
    } finally {
      await pair.stop()
    }
  })
})

describe('the command line', () => {
  const alone = (change: string, user: { id: string }) => ({
    kind: 'operator.changed_alone',
    by: 'cli',
    via: 'cli',
    user_id: user.id,
    detail: { change },
  })
  const operatorAccount = 'operators'

  it('creates, enables and resets an operator alone; it is recorded as such, and all operators are told', async () => {
    const { db } = service.context
    const told = await operatorIds()
    const email = 'by.command@operators.example'
    const user = { account: 'operators', email, roles: ['administrator'], password: null }
    const created = await eventsSince(() => createUser(db, user, operatorAccount))
    const made = await operators.find(email)
    expect(created).toContainEqual(alone('create', made))
    expect(await mails()).toEqual(told.map((to) => ({ to, what: 'alone', change: 'create' })))

    await disablePerson(service.context, olga.id, made.id)
    const wanted = { account: 'operators', email }
    const by = await byCommandLine(db, 'operators')
    const enabled = await eventsSince(() => enablePerson(service.context, by, made.id))
    expect(enabled.map(({ kind }) => kind)).toEqual(['user.enabled', 'operator.changed_alone'])
    expect(enabled).toContainEqual(alone('enable', made))

    for (const reset of [false, true]) {
      const linked = await eventsSince(() => createSetupLink(db, service.config, { ...wanted, reset }))
      expect(linked).toContainEqual(alone('reset', made))
    }
    expect((await mails()).filter(({ change }) => change === 'reset').map(({ to }) => to)).toContain(made.id)
  })

  it('knows the operators’ account without being told, once the service has started with it', async () => {
    const { db } = service.context
    const wanted = { account: 'operators', email: (await operators.make()).email, reset: true }
    const ofCommand = { ...service.config, operatorAccount: null }
    const kinds = async () =>
      (await eventsSince(() => createSetupLink(db, ofCommand, wanted))).map(({ kind }) => kind).slice(-1)
    await markOperatorsAccount(db, service.account.slug)
    expect([await kinds(), await mails()], 'of another account').toEqual([['user.link_created'], []])
    await markOperatorsAccount(db, 'operators')
    expect(await kinds()).toEqual(['operator.changed_alone'])
    expect((await mails()).map(({ to }) => to)).toEqual(await operatorIds())
  })

  it('says nothing of users who are no operators', async () => {
    const { db } = service.context
    const other = {
      account: service.account.slug,
      email: 'someone@acme.example',
      roles: ['administrator'],
      password: null,
    }
    await createUser(db, other, operatorAccount)
    const clerk = await operators.makeClerk()
    await createSetupLink(db, service.config, { account: 'operators', email: clerk.email, reset: true })
    expect(await mails()).toEqual([])
  })

  it('frees an operator of the tie to who reset them, and not of who invited them', async () => {
    const { db } = service.context
    const third = await operators.invite(olga, omar)
    await operators.reset(third, omar, await operators.make())
    await createSetupLink(db, service.config, { account: 'operators', email: third.email, reset: true })
    const ties = await service.database.query('select invited_by, reset_by from users where id = $1', [third.id])
    expect(ties).toEqual([{ invited_by: [olga.id, omar.id], reset_by: [] }])
  })

  it('makes an operator of a user, and gives one who has not signed in another address, and all operators are told', async () => {
    const by = await byCommandLine(service.context.db, 'operators')
    const clerk = await operators.makeClerk()
    const promoted = await eventsSince(() =>
      setPersonRoles(service.context, by, clerk.id, [operators.roles.administrator]),
    )
    expect(promoted).toContainEqual(alone('promote', clerk))
    const moved = await eventsSince(() =>
      updateUser(service.context, by, clerk.id, { email: 'moved@operators.example' }),
    )
    expect(moved).toContainEqual(alone('create', clerk))
    const told = (await mails()).filter(({ to }) => to === olga.id).map(({ change }) => change)
    expect(told.toSorted()).toEqual(['create', 'promote'])
  })

  it('records the first operator with the account', async () => {
    const given = { slug: 'first', name: 'First', administrator: 'first@first.example' }
    const config = { ...service.config, operatorAccount: 'first' }
    const events = await eventsSince(() => setUpAccount(service.context.db, config, given))
    expect(events.filter(({ kind }) => kind === 'operator.changed_alone')).toHaveLength(1)
  })
})
