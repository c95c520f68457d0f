/** Detaching a month from the audit log: the month and the rest of the log still verify, whatever interrupts it. */
import pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { detachMonth } from '../../../src/flows/audit/detach.ts'
import { verifyMonth } from '../../../src/flows/audit/verify.ts'
import { listAuditPartitions } from '../../../src/store/audit/partitions.ts'
import { openSession, type Queryable } from '../../../src/store/postgres/postgres.ts'
import { monthAgo, openLog, recordAt } from '../../rig/audit.ts'
import { createTestDatabase } from '../../rig/engines/database.ts'
import {
  type LogOfThreeMonths,
  makeKeys,
  OLDER,
  OLDEST,
  openThreeMonths,
  THIS,
} from '../../rig/scenes/log-of-three-months.ts'

const keys = makeKeys()
let { database, log, session, detach, attached } = {} as LogOfThreeMonths
beforeEach(async () => {
  const opened = await openThreeMonths(keys)
  ;({ database, log, session, detach, attached } = opened)
  return opened.remove
})

const tablesOf = (month: string) => ['events', 'seals'].map((each) => `audit_${each}_${month.replace('-', '')}`)
const verify = (month: string) => verifyMonth(session, keys, { month, noted: null })

describe('a past month', () => {
  it('is detached with a record of its last seals, and both parts verify, also where months overlap', async () => {
    expect(await detach()).toMatchObject({
      outcome: 'detached',
      record: {
        month: OLDEST,
        runs: [
          { from: 1, to: 4 },
          { from: 6, to: 6 },
        ],
      },
      tables: tablesOf(OLDEST),
    })
    expect(await attached(OLDEST)).toEqual([])
    expect(await verify(OLDEST)).toMatchObject({ problem: null, verified: 5, head: { position: 6 } })
    expect(await log.verify()).toMatchObject({ problem: null, detached: 5, verified: 5 })

    expect(await detach(OLDER)).toMatchObject({
      outcome: 'detached',
      record: {
        month: OLDER,
        runs: [
          { from: 5, to: 5 },
          { from: 7, to: 8 },
        ],
      },
    })
    expect(await verify(OLDER)).toMatchObject({ problem: null, verified: 3 })
    // Each detaching is an event as well.
    await log.seal()
    expect(await log.verify()).toMatchObject({ problem: null, detached: 8, verified: 4 })
    await log.record({})
    await log.seal()
    expect(await log.verify()).toMatchObject({ problem: null, verified: 5 })
  })

  it('may leave before an older one, and the log verifies also when its tables were dropped', async () => {
    await detach(OLDER)
    await database.query(`drop table ${tablesOf(OLDER).join(', ')}`)
    expect(await log.verify()).toMatchObject({ problem: null, detached: 3 })
    await detach(OLDEST)
    await database.query(`drop table ${tablesOf(OLDEST).join(', ')}`)
    expect(await log.verify()).toMatchObject({ problem: null, detached: 8 })
  })
})

describe('detaching is refused for', () => {
  it('a month that is not over', async () => {
    for (const month of [THIS, monthAgo(-1)]) {
      expect(await detach(month)).toEqual({
        outcome: 'refused',
        reason: `${month} is not over, or not for an hour yet.`,
      })
    }
  })

  it('a month without tables, and one without entries', async () => {
    expect(await detach(monthAgo(4))).toMatchObject({
      reason: `There are no tables of ${monthAgo(4)} in this database.`,
    })
    await database.query(`select make_audit_partitions('${monthAgo(4)}-01T00:00:00Z')`)
    expect(await detach(monthAgo(4))).toEqual({ outcome: 'refused', reason: `${monthAgo(4)} has no entries.` })
    expect(await attached(monthAgo(4))).toEqual(tablesOf(monthAgo(4)))
  })

  it('a month that is not completely sealed', async () => {
    await recordAt(database, `${OLDEST}-20T00:00:00Z`)
    expect(await detach()).toEqual({
      outcome: 'refused',
      reason: `Entry 11 of ${OLDEST} is not sealed yet. Is the service running?`,
    })
    expect(await attached(OLDEST)).toEqual(tablesOf(OLDEST))
  })

  it('the month in which the chain ends', async () => {
    const fresh = await createTestDatabase()
    const young = openLog(fresh, keys)
    await recordAt(fresh, `${OLDEST}-20T00:00:00Z`)
    await young.seal()
    const own = await openSession(fresh.url)
    const done = await detachMonth({ session: own, db: young.db, keys }, OLDEST)
    expect(done).toMatchObject({ outcome: 'refused', reason: expect.stringContaining(`The chain ends in ${OLDEST}`) })
    await own.close()
    await young.close()
    await fresh.drop()
  })

  it('a second run at the same time', async () => {
    const other = await openSession(database.url)
    await other.query('select pg_advisory_lock(7018005)')
    expect(await detach()).toEqual({ outcome: 'refused', reason: 'Another "latchkey audit detach" is running.' })
    await other.close()
  })

  it.each([
    ['changed', "update audit_events set kind = 'x' where id = 2", 'changed'],
    ['removed', 'delete from audit_events where id = 2', 'removed'],
    ['sealed under another transaction', "update audit_seals set xid = '1' where position = 2", 'changed'],
    ['changed in another month', "update audit_events set kind = 'x' where id = 9", 'changed'],
  ])('a log in which an event was %s, and nothing is signed', async (_, change, kind) => {
    const client = new pg.Client({ connectionString: database.url, options: '-c session_replication_role=replica' })
    await client.connect()
    await client.query(change)
    await client.end()
    expect(await detach()).toMatchObject({ outcome: 'tampered', problem: { kind } })
    expect(await attached(OLDEST)).toEqual(tablesOf(OLDEST))
    expect(await database.query('select from audit_detachments')).toEqual([])
  })
})

/** A connection that breaks at a statement: before it was run, or after. */
function breakingAt(statement: RegExp, when: 'before' | 'after'): Queryable {
  return {
    query: async (text, values) => {
      const meant = statement.test(typeof text === 'string' ? text : text.text)
      if (meant && when === 'before') throw new Error('cut off')
      const result = await session.query<never>(text, values)
      if (meant) throw new Error('cut off')
      return result
    },
  }
}

describe('interrupted', () => {
  it.each([
    [/from audit_seals s left join/, 'after'],
    [/detach partition audit_events_/, 'before'],
    [/detach partition audit_events_/, 'after'],
    [/detach partition audit_seals_/, 'before'],
    [/detach partition audit_seals_/, 'after'],
  ] as const)('at %s, %s it was run: the log verifies, and the next run goes on', async (statement, when) => {
    await expect(detach(OLDEST, breakingAt(statement, when))).rejects.toThrow('cut off')
    expect((await log.verify()).problem).toBeNull()
    expect(await detach()).toMatchObject({ outcome: 'detached', tables: tablesOf(OLDEST) })
    expect(await attached(OLDEST)).toEqual([])
    await log.seal()
    expect(await log.verify()).toMatchObject({ problem: null, detached: 5 })
    expect(await verify(OLDEST)).toMatchObject({ problem: null, verified: 5 })
    expect(await database.query('select month from audit_detachments')).toEqual([{ month: OLDEST }])
  })

  it('while PostgreSQL waits for other transactions before it detaches, and recording does not wait', async () => {
    const reader = new pg.Client({ connectionString: database.url })
    await reader.connect()
    await reader.query('begin isolation level repeatable read')
    await reader.query('select count(*) from audit_events')
    const running = detach().then(
      () => 'done',
      (error: Error) => error.message,
    )
    const waiting = () =>
      database.query<{ pid: number }>(
        "select pid from pg_stat_activity where query like '%detach partition%' and wait_event_type = 'Lock' and pid <> pg_backend_pid()",
      )
    while ((await waiting()).length === 0);
    await log.db.transaction(async (tx) => {
      await tx.query("set local lock_timeout = '100ms'")
      await tx.query(
        "insert into audit_events (at, kind, actor_kind, actor_id, via) values (now(), 'session.started', 'service', 'test', 'job')",
      )
    })
    for (const { pid } of await waiting()) await database.query('select pg_cancel_backend($1)', [pid])
    expect(await running).toContain('canceling statement')
    await reader.query('rollback')
    await reader.end()
    const states = (await listAuditPartitions(session)).filter(({ month }) => month === OLDEST)
    expect(states.map(({ state }) => state)).toEqual(['detaching', 'attached'])
    expect((await log.verify()).problem).toBeNull()
    expect(await detach()).toMatchObject({ outcome: 'detached' })
    expect(await attached(OLDEST)).toEqual([])
  })
})
