/** AD-07 after a month was detached from the audit log: changes of the month, of its record or of the remaining log are detected. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { Events } from '../../../src/events.ts'
import { createSealer } from '../../../src/flows/audit/seal.ts'
import { verifyMonth } from '../../../src/flows/audit/verify.ts'
import { NO_SEAL, sealEntry } from '../../../src/secrets/audit-seal.ts'
import { readChain } from '../../../src/store/audit/seals.ts'
import { recordAt, tamper, tamperMonth } from '../../rig/audit.ts'
import { type LogOfThreeMonths, makeKeys, OLDEST, openThreeMonths } from '../../rig/scenes/log-of-three-months.ts'

const keys = makeKeys()
let { database, log, session, detach } = {} as LogOfThreeMonths
beforeEach(async () => {
  const opened = await openThreeMonths(keys)
  ;({ database, log, session, detach } = opened)
  return opened.remove
})

const [EVENTS, SEALS] = ['events', 'seals'].map((each) => `audit_${each}_${OLDEST.replace('-', '')}`)

describe('AD-07: later tampering is detected', () => {
  const problemAfter = async (...steps: readonly string[]) =>
    (
      await tamper(log, keys, async (run) => {
        for (const step of steps) await run(step)
      })
    ).problem

  it('in the record', async () => {
    await detach()
    const bad = { kind: 'record', position: 1, month: OLDEST }
    expect(await problemAfter("update audit_detachments set month = '2001-01'")).toEqual({ ...bad, month: '2001-01' })
    expect(await problemAfter("update audit_detachments set runs = jsonb_set(runs, '{0,to}', '5')")).toEqual(bad)
    expect(await problemAfter("update audit_detachments set mac = sha256('')")).toEqual(bad)
    expect(await problemAfter('update audit_detachments set key_id = 2')).toMatchObject({ kind: 'key_missing' })
    expect(await problemAfter('delete from audit_detachments')).toEqual({
      kind: 'removed',
      position: 1,
      eventId: null,
      upTo: 4,
    })
  })

  it('in the remaining log', async () => {
    await detach()
    expect(await problemAfter("update audit_events set kind = 'x' where id = 5")).toMatchObject({
      kind: 'changed',
      position: 5,
    })
    expect(await problemAfter('delete from audit_events where id = 5')).toMatchObject({ kind: 'removed', position: 5 })
    expect(
      await problemAfter(
        'delete from audit_events where id in (5, 7)',
        'delete from audit_seals where position in (5, 7)',
      ),
    ).toEqual({ kind: 'removed', position: 5, eventId: null, upTo: 5 })
  })

  it('in a month that was dropped without being detached by the command', async () => {
    await database.query(`drop table ${EVENTS}, ${SEALS}`)
    expect((await log.verify()).problem).toEqual({ kind: 'removed', position: 1, eventId: null, upTo: 4 })
  })

  it('in events inserted at detached positions', async () => {
    await detach()
    await database.query(`drop table ${EVENTS}, ${SEALS}`)
    const made = `select make_audit_partitions('${OLDEST}-01T00:00:00Z')`
    const event = `insert into audit_events (id, at, kind, actor_kind, actor_id, via, xid)
      values (2, '${OLDEST}-15T12:00:00Z', 'grant.created', 'service', 'test', 'job', '3')`
    expect(await problemAfter(made, event)).toMatchObject({ kind: 'inserted', eventId: '2' })
    const seal = `insert into audit_seals values (2, 2, '${OLDEST}-15T12:00:00Z', '3', 1, sha256(''))`
    expect(await problemAfter(made, event, seal)).not.toBeNull()
  })

  it.each([
    ['a changed event', `update ${EVENTS} set kind = 'x' where id = 2`, { kind: 'changed', position: 2 }],
    ['a changed seal', `update ${SEALS} set hash = sha256('') where position = 6`, { kind: 'changed', position: 6 }],
    ['a removed event', `delete from ${EVENTS} where id = 2`, { kind: 'removed', position: 2 }],
    ['a missing seal', `delete from ${SEALS} where position = 3`, { kind: 'removed', position: 3, upTo: 3 }],
    ['a missing end', `delete from ${SEALS} where position = 4`, { kind: 'removed', position: 4, upTo: 4 }],
    ['no rows', `truncate ${EVENTS}, ${SEALS}`, { kind: 'removed', position: 1, upTo: 4 }],
    [
      'an event without a seal',
      `insert into ${EVENTS} select 99, at, kind, actor_kind, actor_id, via from ${EVENTS} where id = 2`,
      { kind: 'inserted', eventId: '99' },
    ],
    [
      'an event with a seal where another month has its own',
      `with added as (insert into ${EVENTS} select 99, at, kind, actor_kind, actor_id, via from ${EVENTS} where id = 2 returning *)
       insert into ${SEALS} select 5, id, at, xid, 1, sha256('') from added`,
      { kind: 'inserted', position: 5, eventId: '99' },
    ],
    [
      'an event with a seal after the last',
      `with added as (insert into ${EVENTS} select 99, at, kind, actor_kind, actor_id, via from ${EVENTS} where id = 2 returning *)
       insert into ${SEALS} select 7, id, at, xid, 1, sha256('') from added`,
      { kind: 'inserted', eventId: '99' },
    ],
    ['another record', "update audit_detachments set mac = sha256('')", { kind: 'record' }],
  ])('in the tables of the month: %s', async (_, change, problem) => {
    await detach()
    expect(await tamperMonth(log, keys, OLDEST, (run) => run(change))).toMatchObject({ problem })
  })

  it('in the last event of the month, also if it was sealed again by somebody with the key', async () => {
    await detach()
    const tables = { events: EVENTS ?? '', seals: SEALS ?? '' }
    const found = await tamperMonth(log, keys, OLDEST, async (run) => {
      const [seal] = await database.query<{ hash: Buffer }>('select hash from audit_seals where position = 5')
      await run(`update ${EVENTS} set kind = 'x' where id = 6`)
      const [link] = await readChain({ query: run as never }, 5, 1, { tables })
      const place = { previous: seal?.hash ?? NO_SEAL, position: 6 }
      await run(`update ${SEALS} set hash = $1 where position = 6`, [sealEntry(keys.signing, place, link?.entry ?? {})])
    })
    expect(found).toMatchObject({ problem: { kind: 'record', position: 6, month: OLDEST }, verified: 5 })
  })

  it('and writing to the records is refused', async () => {
    await detach()
    for (const statement of [
      "update audit_detachments set month = '2001-01'",
      'delete from audit_detachments',
      'truncate audit_detachments',
    ]) {
      await expect(log.db.query(statement)).rejects.toMatchObject({ code: '42501' })
    }
  })
})

describe('a noted head of the chain', () => {
  it('from a detached month is found in its tables, at its end, or later in the log', async () => {
    const heads = await database.query<{ position: string; hash: Buffer }>(
      'select position, hash from audit_seals order by position',
    )
    const at = (position: number) => ({ position, hash: heads[position - 1]?.hash ?? Buffer.alloc(0) })
    await detach()
    const inMonth = async (noted: ReturnType<typeof at>) => verifyMonth(session, keys, { month: OLDEST, noted })
    expect(await log.verify(at(2))).toMatchObject({ problem: null, notedIn: OLDEST })
    expect(await inMonth(at(2))).toMatchObject({ problem: null })
    expect(await inMonth({ ...at(3), position: 2 })).toMatchObject({ problem: { kind: 'chopped', position: 2 } })
    expect(await inMonth(at(5))).toMatchObject({ problem: { kind: 'chopped', position: 5 } })
    expect(await log.verify(at(4))).toMatchObject({ problem: null, notedIn: null })
    expect((await log.verify({ ...at(3), position: 4 })).problem).toEqual({ kind: 'chopped', position: 4 })
    expect(await log.verify(at(9))).toMatchObject({ problem: null, notedIn: null })
  })

  it('of a sealing process is not reported missing when its month is detached', async () => {
    const told: number[] = []
    const events = { auditDiffers: (position: number) => told.push(position) } as unknown as Events
    const sealer = createSealer({ db: log.db, config: { keys } as never, events })
    await recordAt(database, `${OLDEST}-20T00:00:00Z`)
    await log.seal()
    await sealer.run()
    await log.record({})
    await log.seal()
    await detach()
    await sealer.run()
    expect(told).toEqual([])
  })
})
