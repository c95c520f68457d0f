/** Archiving the audit log: a month is written to a file and removed from the database, and both parts still verify. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { archiveAudit } from '../../../src/flows/audit/archive.ts'
import { verifyArchive } from '../../../src/flows/audit/archive-file.ts'
import { listAuditPartitions } from '../../../src/store/audit/partitions.ts'
import { openSession, type Queryable } from '../../../src/store/postgres/postgres.ts'
import { monthAgo, openLog, recordAt } from '../../rig/audit.ts'
import { createTestDatabase } from '../../rig/engines/database.ts'
import { type ArchivedLog, makeKeys, OLDER, OLDEST, openThreeMonths, THIS } from '../../rig/scenes/archived-log.ts'

const keys = makeKeys()
let { database, log, session, folder, newFile, archive, monthsThere } = {} as ArchivedLog
beforeEach(async () => {
  const opened = await openThreeMonths(keys)
  ;({ database, log, session, folder, newFile, archive, monthsThere } = opened)
  return opened.remove
})

describe('a past month', () => {
  it('is written to a file and removed from the database, and both parts verify, also where months overlap', async () => {
    const file = newFile()
    const done = await archive(file)
    expect(done).toMatchObject({
      outcome: 'archived',
      more: [OLDER],
      record: {
        month: OLDEST,
        events: 5,
        runs: [
          { from: 1, to: 4 },
          { from: 6, to: 6 },
        ],
      },
    })
    expect(await monthsThere()).not.toContain(OLDEST)
    expect(await verifyArchive(file, keys, null)).toMatchObject({ problem: null, record: { month: OLDEST } })
    expect(await log.verify()).toMatchObject({ problem: null, archived: 5, verified: 5 })

    const second = newFile()
    expect(await archive(second)).toMatchObject({
      outcome: 'archived',
      more: [],
      record: {
        month: OLDER,
        runs: [
          { from: 5, to: 5 },
          { from: 7, to: 8 },
        ],
      },
    })
    expect(await verifyArchive(second, keys, null)).toMatchObject({ problem: null })
    expect(await archive(newFile())).toEqual({ outcome: 'nothing' })
    // Each archive is an event as well.
    await log.seal()
    expect(await log.verify()).toMatchObject({ problem: null, archived: 8, verified: 4 })
    await log.record({})
    await log.seal()
    expect(await log.verify()).toMatchObject({ problem: null, verified: 5 })
  })

  it('without events is removed without a file', async () => {
    await database.query(`select make_audit_partitions('${monthAgo(3)}-01T00:00:00Z')`)
    expect(await archive(newFile())).toMatchObject({ record: { month: OLDEST } })
    expect(await monthsThere()).not.toContain(monthAgo(3))
  })

  it('becomes a file with one event and its seal per line, and the record as the last line', async () => {
    const file = newFile()
    await archive(file)
    const lines = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.slice(0, -1).map(({ position, previous }) => [position, typeof previous])).toEqual([
      [1, 'string'],
      [2, 'undefined'],
      [3, 'undefined'],
      [4, 'undefined'],
      [6, 'string'],
    ])
    expect(lines[0]).toMatchObject({ kind: 'session.started', id: '1', key_id: 1, detail: expect.any(String) })
    expect(lines.at(-1)).toMatchObject({
      month: OLDEST,
      events: 5,
      key_id: 1,
      mac: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })
})

describe('archiving is refused for', () => {
  it('a month that is not over', async () => {
    const next = monthAgo(-1)
    expect(await archive(newFile(), next)).toEqual({
      outcome: 'refused',
      reason: `${THIS} is not over: --before takes ${THIS} at the latest.`,
    })
  })

  it('a month that is not completely sealed', async () => {
    await recordAt(database, `${OLDEST}-20T00:00:00Z`)
    const file = newFile()
    expect(await archive(file)).toEqual({
      outcome: 'refused',
      reason: `1 entries of ${OLDEST} are not sealed yet. Is the service running?`,
    })
    expect(existsSync(file)).toBe(false)
  })

  it('the month in which the chain ends', async () => {
    const fresh = await createTestDatabase()
    const young = openLog(fresh, keys)
    await recordAt(fresh, `${OLDEST}-20T00:00:00Z`)
    await young.seal()
    const own = await openSession(fresh.url)
    const done = await archiveAudit({ session: own, db: young.db, keys }, { before: THIS, file: newFile() })
    expect(done).toMatchObject({ outcome: 'refused', reason: expect.stringContaining(`The chain ends in ${OLDEST}`) })
    await own.close()
    await young.close()
    await fresh.drop()
  })

  it('a file that exists with other content, or cannot be written', async () => {
    const file = newFile()
    writeFileSync(file, 'something else\n')
    expect(await archive(file)).toEqual({
      outcome: 'refused',
      reason: `${file} is there already, and is not the archive of ${OLDEST}.`,
    })
    expect(readFileSync(file, 'utf8')).toBe('something else\n')
    expect(await archive(join(folder, 'nowhere', 'file'))).toMatchObject({ outcome: 'refused' })
    expect(await monthsThere()).toContain(OLDEST)
  })

  it('a second run at the same time', async () => {
    const other = await openSession(database.url)
    await other.query('select pg_advisory_lock(7018005)')
    expect(await archive(newFile())).toEqual({
      outcome: 'refused',
      reason: 'Another "latchkey audit archive" is running.',
    })
    await other.close()
  })

  it.each([
    ['changed', "update audit_events set kind = 'x' where id = 2"],
    ['removed', 'delete from audit_events where id = 2'],
    ['sealed under another transaction', "update audit_seals set xid = '1' where position = 2"],
  ])('a month in which an event was %s, and nothing is removed', async (_, change) => {
    const client = new pg.Client({ connectionString: database.url, options: '-c session_replication_role=replica' })
    await client.connect()
    await client.query(change)
    await client.end()
    const file = newFile()
    expect(await archive(file)).toMatchObject({ outcome: 'tampered' })
    expect(existsSync(file)).toBe(false)
    expect(await monthsThere()).toContain(OLDEST)
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
    [/drop table audit_events_/, 'before'],
    [/drop table audit_events_/, 'after'],
    [/detach partition audit_seals_/, 'before'],
    [/detach partition audit_seals_/, 'after'],
    [/drop table audit_seals_/, 'before'],
  ] as const)('at %s, %s it was run: the log verifies, and the next run goes on', async (statement, when) => {
    const file = newFile()
    await expect(archive(file, THIS, breakingAt(statement, when))).rejects.toThrow('cut off')
    expect((await log.verify()).problem).toBeNull()
    expect(await archive(file)).toMatchObject({ outcome: 'archived', record: { month: OLDEST, events: 5 } })
    expect(await monthsThere()).not.toContain(OLDEST)
    await log.seal()
    expect(await log.verify()).toMatchObject({ problem: null, archived: 5 })
    expect((await verifyArchive(file, keys, null)).problem).toBeNull()
    expect(await database.query('select month from audit_archives')).toEqual([{ month: OLDEST }])
  })

  it('while PostgreSQL waits for other transactions before it detaches', async () => {
    const reader = new pg.Client({ connectionString: database.url })
    await reader.connect()
    await reader.query('begin isolation level repeatable read')
    await reader.query('select count(*) from audit_events')
    const file = newFile()
    const running = archive(file).then(
      () => 'done',
      (error: Error) => error.message,
    )
    const waiting = () =>
      database.query<{ pid: number }>(
        "select pid from pg_stat_activity where query like '%detach partition%' and wait_event_type = 'Lock' and pid <> pg_backend_pid()",
      )
    while ((await waiting()).length === 0);
    // Inserts do not wait for it.
    await log.record({})
    for (const { pid } of await waiting()) await database.query('select pg_cancel_backend($1)', [pid])
    expect(await running).toContain('canceling statement')
    await reader.query('rollback')
    await reader.end()
    const states = (await listAuditPartitions(session)).filter(({ month }) => month === OLDEST)
    expect(states.map(({ state }) => state)).toEqual(['detaching', 'attached'])
    expect((await log.verify()).problem).toBeNull()
    expect(await archive(file)).toMatchObject({ outcome: 'archived', record: { events: 5 } })
    expect(await monthsThere()).not.toContain(OLDEST)
  })

  it('it removes nothing more without the file', async () => {
    const file = newFile()
    await expect(archive(file, THIS, breakingAt(/drop table audit_events_/, 'after'))).rejects.toThrow()
    rmSync(file)
    expect(await archive(file)).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('give the file that it was archived to'),
    })
  })

  it('it writes the same file again as long as the events are there', async () => {
    const file = newFile()
    await expect(archive(file, THIS, breakingAt(/detach partition/, 'before'))).rejects.toThrow()
    const before = readFileSync(file)
    rmSync(file)
    await archive(file)
    expect(readFileSync(file)).toEqual(before)
  })

  it('events inserted into the month after it was archived are not dropped', async () => {
    const file = newFile()
    await expect(archive(file, THIS, breakingAt(/detach partition/, 'before'))).rejects.toThrow()
    await recordAt(database, `${OLDEST}-20T00:00:00Z`)
    expect(await archive(file)).toMatchObject({
      outcome: 'tampered',
      reason: expect.stringMatching(/has 6 rows, and 5 of .* were archived/),
    })
    expect(await monthsThere()).toContain(OLDEST)
  })
})
