/** Archiving the audit log: a month goes into a file and out of the database, and both parts still verify. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Events } from '../../src/events.ts'
import { archiveAudit } from '../../src/flows/archive-audit.ts'
import { verifyArchive } from '../../src/flows/archive-file.ts'
import { createSealer } from '../../src/flows/seal-audit.ts'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { listAuditPartitions } from '../../src/store/audit-partitions.ts'
import { openSession, type Queryable, type Session } from '../../src/store/postgres.ts'
import { type Log, monthAgo, openLog, recordAt, tamper } from '../rig/audit.ts'
import { createTestDatabase, type TestDatabase } from '../rig/database.ts'

function makeKeys(): Keyset {
  const keyset = parseKeyset(createKey(1))
  if ('problem' in keyset) throw new Error(keyset.problem)
  return keyset
}

const [OLDEST, OLDER, THIS] = [monthAgo(2), monthAgo(1), monthAgo(0)]

const keys = makeKeys()
let folder: string
let database: TestDatabase
let log: Log
let session: Session
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'archive-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Of three months; where they meet, transactions of both overlap. Positions 1 to 4 and 6 are of the oldest, 5, 7 and 8 of the next. */
async function fill(): Promise<void> {
  const months = [OLDEST, OLDEST, OLDEST, OLDEST, OLDER, OLDEST, OLDER, OLDER, THIS, THIS]
  for (const month of months) await recordAt(database, month === THIS ? null : `${month}-15T12:00:00.123456Z`)
  await log.seal()
}

beforeEach(async () => {
  database = await createTestDatabase()
  log = openLog(database, keys)
  session = await openSession(database.url)
  await fill()
  return async () => {
    await session.close()
    await log.close()
    await database.drop()
  }
})

const newFile = () => join(folder, `${randomUUID()}.ndjson`)
const archive = (file: string, before = THIS, by: Queryable = session) =>
  archiveAudit({ session: by, db: log.db, keys }, { before, file })
const monthsThere = async () => new Set((await listAuditPartitions(session)).map(({ month }) => month))

describe('a month that is over', () => {
  it('goes into a file and out of the database, and both parts verify, also where months overlap', async () => {
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
    // That it was taken along is an entry, each time.
    await log.seal()
    expect(await log.verify()).toMatchObject({ problem: null, archived: 8, verified: 4 })
    await log.record({})
    await log.seal()
    expect(await log.verify()).toMatchObject({ problem: null, verified: 5 })
  })

  it('is taken out without a file where nothing happened in it', async () => {
    await database.query(`select make_audit_partitions('${monthAgo(3)}-01T00:00:00Z')`)
    expect(await archive(newFile())).toMatchObject({ record: { month: OLDEST } })
    expect(await monthsThere()).not.toContain(monthAgo(3))
  })

  it('every line of the file is an event with its seal, the last line the record', async () => {
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

describe('is refused', () => {
  it('a month that is not over', async () => {
    const next = monthAgo(-1)
    expect(await archive(newFile(), next)).toEqual({
      outcome: 'refused',
      why: `${THIS} is not over: --before takes ${THIS} at the latest.`,
    })
  })

  it('a month that is not wholly sealed', async () => {
    await recordAt(database, `${OLDEST}-20T00:00:00Z`)
    const file = newFile()
    expect(await archive(file)).toEqual({
      outcome: 'refused',
      why: `1 entries of ${OLDEST} are not sealed yet. Is the service running?`,
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
    expect(done).toMatchObject({ outcome: 'refused', why: expect.stringContaining(`The chain ends in ${OLDEST}`) })
    await own.close()
    await young.close()
    await fresh.drop()
  })

  it('a file that is something else, or cannot be written', async () => {
    const file = newFile()
    writeFileSync(file, 'something else\n')
    expect(await archive(file)).toEqual({
      outcome: 'refused',
      why: `${file} is there already, and is not the archive of ${OLDEST}.`,
    })
    expect(readFileSync(file, 'utf8')).toBe('something else\n')
    expect(await archive(join(folder, 'nowhere', 'file'))).toMatchObject({ outcome: 'refused' })
    expect(await monthsThere()).toContain(OLDEST)
  })

  it('a second one at the same time', async () => {
    const other = await openSession(database.url)
    await other.query('select pg_advisory_lock(7018005)')
    expect(await archive(newFile())).toEqual({
      outcome: 'refused',
      why: 'Another "latchkey audit archive" is running.',
    })
    await other.close()
  })

  it.each([
    ['changed', "update audit_events set kind = 'x' where id = 2"],
    ['removed', 'delete from audit_events where id = 2'],
    ['sealed under another transaction', "update audit_seals set xid = '1' where position = 2"],
  ])('a month in which an entry was %s, and nothing is taken out', async (_, change) => {
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

describe('cut off in the middle', () => {
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

  it('while PostgreSQL waits for others before it detaches', async () => {
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
    // Nobody who records waits for it.
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

  it('nothing more is taken out without the file', async () => {
    const file = newFile()
    await expect(archive(file, THIS, breakingAt(/drop table audit_events_/, 'after'))).rejects.toThrow()
    rmSync(file)
    expect(await archive(file)).toMatchObject({
      outcome: 'refused',
      why: expect.stringContaining('give the file that it was archived to'),
    })
  })

  it('the same file is written again as long as everything is there', async () => {
    const file = newFile()
    await expect(archive(file, THIS, breakingAt(/detach partition/, 'before'))).rejects.toThrow()
    const before = readFileSync(file)
    rmSync(file)
    await archive(file)
    expect(readFileSync(file)).toEqual(before)
  })

  it('what somebody wrote into the month after it was archived is not dropped', async () => {
    const file = newFile()
    await expect(archive(file, THIS, breakingAt(/detach partition/, 'before'))).rejects.toThrow()
    await recordAt(database, `${OLDEST}-20T00:00:00Z`)
    expect(await archive(file)).toMatchObject({
      outcome: 'tampered',
      why: expect.stringMatching(/has 6 rows, and 5 of .* were archived/),
    })
    expect(await monthsThere()).toContain(OLDEST)
  })
})

describe('tampering afterwards is found', () => {
  it('with any byte of the file', async () => {
    const file = newFile()
    await archive(file)
    const bytes = readFileSync(file)
    const undetected: number[] = []
    // Every seventh is enough of each part of a line.
    for (let at = 0; at < bytes.length; at += 7) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      writeFileSync(file, changed)
      if ((await verifyArchive(file, keys, null)).problem === null) undetected.push(at)
    }
    expect(undetected).toEqual([])
  })

  it('with the lines of the file', async () => {
    const file = newFile()
    await archive(file)
    const lines = readFileSync(file, 'utf8').split(/(?<=\n)/)
    const kindOf = async (changed: readonly string[]) => {
      writeFileSync(file, changed.join(''))
      return (await verifyArchive(file, keys, null)).problem
    }
    expect(await kindOf(lines.toSpliced(1, 1))).toEqual({ kind: 'changed', line: 2 })
    expect(await kindOf(lines.toSpliced(4, 1))).toEqual({ kind: 'differs' })
    expect(await kindOf(lines.toSpliced(0, 5))).toEqual({ kind: 'differs' })
    expect(await kindOf(lines.slice(0, -1))).toEqual({ kind: 'incomplete' })
    expect(await kindOf(lines.toSpliced(0, 0, '\n'))).toEqual({ kind: 'changed', line: 1 })
    expect(await kindOf([...lines, lines.at(-1) ?? ''])).toMatchObject({ kind: 'changed' })
    expect(await kindOf(lines.map((line) => line.trimEnd()))).toEqual({ kind: 'incomplete' })
    expect(await kindOf([])).toEqual({ kind: 'incomplete' })
    expect(await kindOf(lines)).toBeNull()
    expect((await verifyArchive(file, makeKeys(), null)).problem).toEqual({ kind: 'changed', line: 1 })
  })

  const problemAfter = async (...steps: readonly string[]) =>
    (
      await tamper(log, keys, async (run) => {
        for (const step of steps) await run(step)
      })
    ).problem

  it('with the record', async () => {
    await archive(newFile())
    const bad = { kind: 'archive', position: 1, month: OLDEST }
    expect(await problemAfter('update audit_archives set events = 6')).toEqual(bad)
    expect(await problemAfter("update audit_archives set month = '2001-01'")).toEqual({ ...bad, month: '2001-01' })
    expect(await problemAfter("update audit_archives set sha256 = sha256('')")).toEqual(bad)
    expect(await problemAfter("update audit_archives set runs = jsonb_set(runs, '{0,to}', '5')")).toEqual(bad)
    expect(await problemAfter('update audit_archives set key_id = 2')).toMatchObject({ kind: 'key_missing' })
    expect(await problemAfter('delete from audit_archives')).toEqual({
      kind: 'removed',
      position: 1,
      eventId: null,
      upTo: 4,
    })
  })

  it('with what is left', async () => {
    await archive(newFile())
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

  it('with events that are put where archived ones were', async () => {
    await archive(newFile())
    const made = `select make_audit_partitions('${OLDEST}-01T00:00:00Z')`
    const event = `insert into audit_events (id, at, kind, actor_kind, actor_id, via, xid)
      values (2, '${OLDEST}-15T12:00:00Z', 'grant.created', 'service', 'test', 'job', '3')`
    expect(await problemAfter(made, event)).toMatchObject({ kind: 'inserted', eventId: '2' })
    const seal = `insert into audit_seals values (2, 2, '${OLDEST}-15T12:00:00Z', '3', 1, sha256(''))`
    expect(await problemAfter(made, event, seal)).not.toBeNull()
  })

  it('is refused to who would write to the records of archives', async () => {
    await archive(newFile())
    for (const statement of [
      "update audit_archives set month = '2001-01'",
      'delete from audit_archives',
      'truncate audit_archives',
    ]) {
      await expect(log.db.query(statement)).rejects.toMatchObject({ code: '42501' })
    }
  })
})

describe('a head that was noted', () => {
  it('before the archive ended is looked for in the file, at its end and later in the log', async () => {
    const heads = await database.query<{ position: string; hash: Buffer }>(
      'select position, hash from audit_seals order by position',
    )
    const at = (position: number) => ({ position, hash: heads[position - 1]?.hash ?? Buffer.alloc(0) })
    const file = newFile()
    await archive(file)
    expect(await log.verify(at(2))).toMatchObject({ problem: null, notedIn: OLDEST })
    expect((await verifyArchive(file, keys, at(2))).problem).toBeNull()
    expect((await verifyArchive(file, keys, { ...at(3), position: 2 })).problem).toEqual({
      kind: 'chopped',
      position: 2,
    })
    expect(await log.verify(at(4))).toMatchObject({ problem: null, notedIn: null })
    expect((await log.verify({ ...at(3), position: 4 })).problem).toEqual({ kind: 'chopped', position: 4 })
    expect(await log.verify(at(9))).toMatchObject({ problem: null, notedIn: null })
  })

  it('by a process that seals is not missed when its month is archived', async () => {
    const told: number[] = []
    const events = { auditDiffers: (position: number) => told.push(position) } as unknown as Events
    const sealer = createSealer({ db: log.db, config: { keys } as never, events })
    await recordAt(database, `${OLDEST}-20T00:00:00Z`)
    await log.seal()
    await sealer.turn()
    await log.record({})
    await log.seal()
    await archive(newFile())
    await sealer.turn()
    expect(told).toEqual([])
  })
})
