/** AD-07: the audit log is append-only, and changes made past the service are detected. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_SEAL, sealEntry } from '../../../src/secrets/audit-seal.ts'
import { createKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { type EntryRow, readChain } from '../../../src/store/audit/seals.ts'
import { type Intruder, type Log, makeEvents, openLog, tamper as tamperWith } from '../../rig/audit.ts'
import { createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'

const EVENTS = 24

function makeKeys(): Keyset {
  const keyset = parseKeyset(createKey(1))
  if ('problem' in keyset) throw new Error(keyset.problem)
  return keyset
}

const keys = makeKeys()
let database: TestDatabase
let log: Log
beforeAll(async () => {
  database = await createTestDatabase()
  log = openLog(database, keys)
  for (const event of makeEvents(EVENTS - 4)) await log.record(event)
  // Several events per transaction, too.
  await log.record(...makeEvents(4))
  await log.seal()
})
afterAll(async () => {
  await log.close()
  await database.drop()
})

const tamper = (work: (run: Intruder) => Promise<unknown>, noted: Awaited<ReturnType<Log['head']>> | null = null) =>
  tamperWith(log, keys, work, noted)
const problemAfter = async (...steps: readonly string[]) =>
  (
    await tamper(async (run) => {
      for (const step of steps) await run(step)
    })
  ).problem

/** Renumbers seals without violating the unique constraint. */
const renumber = (from: number, by: number) => [
  `update audit_seals set position = position + 1000000 where position >= ${from}`,
  `update audit_seals set position = position - 1000000 + ${by} where position >= ${from}`,
]

describe('AD-07: the service itself', () => {
  const statements = [
    "update audit_events set kind = 'code.rejected'",
    'update audit_events set detail = detail where false',
    'delete from audit_events where id = 1',
    'truncate audit_events',
    "update audit_seals set hash = decode(repeat('00', 32), 'hex')",
    'delete from audit_seals',
    'truncate audit_seals',
    'truncate audit_events, audit_seals',
    'with gone as (delete from audit_events returning 1) select count(*) from gone',
    `insert into audit_seals select * from audit_seals
     on conflict (position, event_at) do update set hash = excluded.hash`,
    'merge into audit_events e using audit_seals s on s.event_id = e.id when matched then delete',
  ]

  it.each(statements)('is refused: %s', async (statement) => {
    const refused = log.db.query(statement)
    await expect(refused).rejects.toMatchObject({
      code: '42501',
      message: expect.stringMatching(/^permission denied: audit_/),
    })
  })

  it('is refused for a statement that names a partition, too', async () => {
    const partitions = await database.query<{ name: string }>(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent in ('audit_events'::regclass, 'audit_seals'::regclass)",
    )
    expect(partitions.length).toBeGreaterThanOrEqual(6)
    for (const { name } of partitions) {
      for (const statement of [`update ${name} set xid = '1'`, `delete from ${name}`, `truncate ${name}`]) {
        await expect(log.db.query(statement), statement).rejects.toMatchObject({
          code: '42501',
          message: expect.stringMatching(`^permission denied: ${name} is append-only`),
        })
      }
    }
  })

  it('leaves the log as it was sealed', async () => {
    const head = await log.head()
    expect(await log.verify(head)).toEqual({
      problem: null,
      verified: EVENTS,
      detached: 0,
      notedIn: null,
      head,
      keys: [{ keyId: 1, from: 1, to: EVENTS }],
      young: 0,
      waiting: 0,
      backdated: null,
    })
  })
})

describe('a changed row', () => {
  it('AD-07: is detected in every column: each is covered by the seal', async () => {
    const [first] = await readChain(log.db, 0, 1)
    const columns = await database.query<{ name: string }>(
      `select attname as name from pg_attribute where attrelid = 'audit_events'::regclass and attnum > 0 and not attisdropped`,
    )
    expect(Object.keys(first?.entry ?? {}).sort()).toEqual(columns.map(({ name }) => name).sort())
  })

  /** Another value of the same type, with the smallest possible difference. */
  const other: Readonly<Record<string, string>> = {
    id: 'id + 1000000',
    at: "at + interval '1 microsecond'",
    kind: "kind || ' '",
    account_id: "account_id || 'x'",
    user_id: 'null',
    application_id: "''",
    grant_id: "overlay(grant_id placing 'grt_i' from 1)",
    device_code_id: 'null',
    detail: `jsonb_set(detail, '{times}', to_jsonb((detail ->> 'times')::numeric + 0.0))`,
    xid: '(xid::text::numeric + 1)::text::xid8',
  }

  it('AD-07: is detected in any column of any row', async () => {
    const undetected: string[] = []
    for (let position = 1; position <= EVENTS; position += 1) {
      for (const [column, value] of Object.entries(other)) {
        const { problem } = await tamper((run) =>
          run(
            `update audit_events set ${column} = ${value} where id = (select event_id from audit_seals where position = $1)`,
            [position],
          ),
        )
        const expected = column === 'id' ? 'removed' : 'changed'
        if (problem?.kind !== expected || problem.position !== position) {
          undetected.push(`${column} at ${position}: ${JSON.stringify(problem)}`)
        }
      }
    }
    expect(undetected).toEqual([])
  })

  it.each([
    [
      'letters moved from one column into the next',
      'set account_id = left(account_id, 4), user_id = right(account_id, 12) || user_id',
    ],
    ['the ids of a grant and of an application exchanged', 'set grant_id = application_id, application_id = grant_id'],
    ['the time moved into the month before', "set at = at - interval '1 month'"],
    ['a digit that no double has', `set detail = '{"times": 9007199254740993}'`],
    ['a name added to the detail', `set detail = detail || '{"by": "usr_000000000001"}'`],
    ['an empty detail', "set detail = '{}'"],
    ['a detail deeper than any', "set detail = (repeat('[', 2000) || repeat(']', 2000))::jsonb"],
  ])('%s', async (_, change) => {
    expect(await problemAfter(`update audit_events ${change} where id = 9`)).toMatchObject({
      kind: 'changed',
      position: 9,
    })
  })

  it.each([
    ['hash', "set hash = decode(repeat('ab', 32), 'hex')", 'changed'],
    ['xid', 'set xid = (xid::text::numeric + 1)::text::xid8', 'changed'],
    ['key_id', 'set key_id = 2', 'key_missing'],
    ['event_id', 'set event_id = 1000', 'removed'],
    ['event_at', "set event_at = event_at + interval '1 microsecond'", 'changed'],
    ['event_at, in the month before', "set event_at = event_at - interval '1 month'", 'changed'],
    ['position', 'set position = 1000', 'removed'],
  ])('a seal, its %s', async (_, change, kind) => {
    for (const position of [1, 9, EVENTS]) {
      const problem = await problemAfter(`update audit_seals ${change} where position = ${position}`)
      expect(problem).toMatchObject({ kind, position })
    }
  })

  it('is reported for the first of two neighbours', async () => {
    const problem = await problemAfter("update audit_events set kind = 'x' where id in (9, 10)")
    expect(problem).toEqual({ kind: 'changed', position: 9, eventId: '9' })
  })
})

describe('a removed row', () => {
  it.each([1, 9, EVENTS])('event %i alone', async (id) => {
    const problem = await problemAfter(`delete from audit_events where id = ${id}`)
    expect(problem).toEqual({ kind: 'removed', position: id, eventId: String(id), upTo: id })
  })

  it('together with its seal', async () => {
    const problem = await problemAfter(
      'delete from audit_events where id = 9',
      'delete from audit_seals where position = 9',
    )
    expect(problem).toEqual({ kind: 'removed', position: 9, eventId: null, upTo: 9 })
  })

  it('together with its seal, with the rest renumbered', async () => {
    const problem = await problemAfter(
      'delete from audit_events where id = 9',
      'delete from audit_seals where position = 9',
      ...renumber(10, -1),
    )
    expect(problem).toMatchObject({ kind: 'rewritten', position: 9 })
  })

  it('at the beginning of the log', async () => {
    const problem = await problemAfter(
      'delete from audit_events where id <= 9',
      'delete from audit_seals where position <= 9',
    )
    expect(problem).toEqual({ kind: 'removed', position: 1, eventId: null, upTo: 9 })
  })

  it('after a remaining position, with the numbers of others', async () => {
    const problem = await problemAfter('delete from audit_seals where position between 9 and 20')
    expect(problem).toEqual({ kind: 'removed', position: 9, eventId: null, upTo: 20 })
  })
})

describe('a reordered row', () => {
  const pairs = [
    [1, 2],
    [9, 10],
    [9, 15],
    [EVENTS - 1, EVENTS],
  ] as const

  it.each(pairs)('%i and %i: positions swapped', async (a, b) => {
    const problem = await problemAfter(
      `update audit_seals set position = position + 1000000 where position in (${a}, ${b})`,
      `update audit_seals set position = ${a + b} - (position - 1000000) where position > 1000000`,
    )
    expect(problem).toMatchObject({ kind: 'reordered', position: a })
  })

  // The id of an event is its position here.
  it.each(pairs)('%i and %i: events of the seals swapped', async (a, b) => {
    const problem = await problemAfter(
      `update audit_seals set event_id = event_id + 1000000 where position in (${a}, ${b})`,
      `update audit_seals s set event_id = e.id, xid = e.xid from audit_events e
       where s.event_id > 1000000 and e.id = ${a + b} - s.position`,
    )
    expect(problem).toMatchObject({ kind: 'reordered', position: a })
  })

  it.each(pairs)('%i and %i: contents swapped, ids kept', async (a, b) => {
    const columns =
      'at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, grant_id, device_code_id, detail, xid'
    const problem = await problemAfter(
      `update audit_events e set (${columns}) = (select ${columns} from audit_events o where o.id = ${a + b} - e.id)
       where e.id in (${a}, ${b})`,
    )
    expect(problem).toMatchObject({ kind: 'reordered', position: a })
  })

  it.each(pairs)('%i and %i: ids swapped', async (a, b) => {
    const problem = await problemAfter(
      `update audit_events set id = id + 1000000 where id in (${a}, ${b})`,
      `update audit_events set id = ${a + b} - (id - 1000000) where id > 1000000`,
    )
    expect(problem).toMatchObject({ kind: 'reordered', position: a })
  })
})

describe('an inserted row', () => {
  const columns = 'at, kind, actor_kind, actor_id, via, detail, xid'

  it('with an old transaction id, so that it looks older', async () => {
    const problem = await problemAfter(
      `insert into audit_events (${columns}) select at, 'grant.created', 'service', 'expiry', 'job', '{}', xid from audit_events where id = 9`,
    )
    expect(problem).toMatchObject({ kind: 'inserted', position: null })
  })

  it('with an old transaction id and an unused id', async () => {
    const problem = await problemAfter(
      `insert into audit_events (id, ${columns}) select -5, at, 'grant.created', 'service', 'expiry', 'job', '{}', xid from audit_events where id = 9`,
    )
    expect(problem).toEqual({ kind: 'inserted', position: null, eventId: '-5' })
  })

  it('with a future transaction id', async () => {
    const problem = await problemAfter(
      `insert into audit_events (${columns}) values (now(), 'grant.created', 'service', 'expiry', 'job', '{}', '999999999999')`,
    )
    expect(problem).toMatchObject({ kind: 'inserted', position: null })
  })

  it('with a seal of its own, and the rest renumbered', async () => {
    const problem = await problemAfter(
      `insert into audit_events (id, ${columns}) select 5000, at, 'grant.created', 'service', 'expiry', 'job', '{}', xid from audit_events where id = 9`,
      ...renumber(9, 1),
      `insert into audit_seals select 9, 5000, at, xid, 1, sha256('made up') from audit_events where id = 5000`,
    )
    expect(problem).toEqual({ kind: 'inserted', position: 9, eventId: '5000' })
  })

  it('with a seal of its own, replacing another', async () => {
    for (const position of [1, 9, EVENTS]) {
      const problem = await problemAfter(
        `insert into audit_events (id, ${columns}) select 5000, at + interval '1 second', 'grant.created', 'service', 'expiry', 'job', '{}', xid from audit_events where id = ${position}`,
        `insert into audit_seals select ${position}, 5000, at, xid, 1, sha256('made up') from audit_events where id = 5000`,
      )
      expect(problem).toEqual({ kind: 'inserted', position, eventId: '5000' })
    }
  })

  it('at the end, with a made-up seal', async () => {
    const problem = await problemAfter(
      `insert into audit_events (id, ${columns}) select 5000, at, 'grant.created', 'service', 'expiry', 'job', '{}', xid from audit_events where id = 9`,
      `insert into audit_seals select ${EVENTS + 1}, 5000, at, xid, 1, sha256('made up') from audit_events where id = 5000`,
    )
    expect(problem).toMatchObject({ kind: 'changed', position: EVENTS + 1 })
  })
})

describe('a truncated end', () => {
  it('without its seals is detected', async () => {
    const problem = await problemAfter(`delete from audit_events where id > ${EVENTS - 5}`)
    expect(problem).toMatchObject({ kind: 'removed', position: EVENTS - 4 })
  })

  const cut = async (run: Intruder) => {
    await run(`delete from audit_events where id > ${EVENTS - 5}`)
    await run(`delete from audit_seals where position > ${EVENTS - 5}`)
  }

  it('with its seals is detected with a noted head of the chain only', async () => {
    const noted = await log.head()
    expect((await tamper(cut)).problem).toBeNull()
    expect((await tamper(cut, noted)).problem).toEqual({ kind: 'chopped', position: EVENTS })
  })

  it('that was extended again does not match the noted head', async () => {
    const noted = await log.head()
    const regrown = await tamper(async (run) => {
      const { rows } = await run(`select encode(hash, 'hex') as hash from audit_seals where position = ${EVENTS}`)
      await cut(run)
      await run(
        `insert into audit_seals select ${EVENTS - 5} + i, 9000 + i, now(), '1', 1, sha256(i::text::bytea) from generate_series(1, 5) i`,
      )
      expect(rows[0]?.hash).toBe(noted.hash.toString('hex'))
    }, noted)
    expect(regrown.problem).not.toBeNull()
    const other = { ...noted, hash: Buffer.alloc(32, 1) }
    expect((await log.verify(other)).problem).toEqual({ kind: 'chopped', position: EVENTS })
  })

  it('of the whole log is detected', async () => {
    const noted = await log.head()
    const emptied = await tamper((run) => run('truncate audit_events, audit_seals'), noted)
    expect(emptied.problem).toEqual({ kind: 'chopped', position: EVENTS })
  })
})

describe('seals made without the key', () => {
  /** Changes one row and seals everything after it again, as an attacker could with everything but the keys. */
  const reseal = (seal: (previous: Buffer, position: number, entry: EntryRow) => Buffer) => async (run: Intruder) => {
    await run("update audit_events set kind = 'code.rejected' where id = 9")
    const links = await readChain({ query: run as never }, 0, 100)
    let previous: Buffer = NO_SEAL
    for (const { position, hash, entry } of links) {
      if (Number(position) < 9 || !entry) {
        previous = hash
        continue
      }
      previous = seal(previous, Number(position), entry)
      await run('update audit_seals set hash = $2 where position = $1', [position, previous])
    }
  }

  it('under a key of the attacker are detected', async () => {
    const { signing } = makeKeys()
    const { problem } = await tamper(
      reseal((previous, position, entry) => sealEntry(signing, { previous, position }, entry)),
    )
    expect(problem).toEqual({ kind: 'rewritten', position: 9, eventId: '9' })
  })

  it('made with the key are detected by the noted head of the chain', async () => {
    const noted = await log.head()
    const anew = reseal((previous, position, entry) => sealEntry(keys.signing, { previous, position }, entry))
    expect((await tamper(anew)).problem).toBeNull()
    expect((await tamper(anew, noted)).problem).toEqual({ kind: 'chopped', position: EVENTS })
  })
})
