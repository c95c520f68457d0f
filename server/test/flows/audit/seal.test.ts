/** Sealing the audit log: every committed event once, in a defined order, despite failures. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Events } from '../../../src/events.ts'
import { type AuditHead, createSealer, sealBatch } from '../../../src/flows/audit/seal.ts'
import { NO_SEAL, sealEntry } from '../../../src/secrets/audit-seal.ts'
import { createKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { type AuditSeal, insertSeals, readSealable } from '../../../src/store/audit/seals.ts'
import { openPostgres, Unavailable } from '../../../src/store/postgres/postgres.ts'
import { type Log, makeEvents, openLog } from '../../rig/audit.ts'
import { createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'
import { TEST_KEYS } from '../../rig/make.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'

function keysOf(text: string): Keyset {
  const keyset = parseKeyset(text)
  if ('problem' in keyset) throw new Error(keyset.problem)
  return keyset
}

const keys = keysOf(TEST_KEYS)
let database: TestDatabase
let log: Log
beforeAll(async () => {
  database = await createTestDatabase()
  log = openLog(database, keys)
})
afterAll(async () => {
  await log.close()
  await database.drop()
})

const sealed = () =>
  database.query<{ position: string; id: string; kind: string; detail: Record<string, number>; key_id: number }>(
    'select s.position, e.id, e.kind, e.detail, s.key_id from audit_seals s join audit_events e on e.id = s.event_id order by s.position',
  )

describe('while many processes record and the sealer is killed repeatedly', () => {
  /** When each event's transaction began and was known to be committed, by one shared counter. */
  const history = new Map<number, { began: number; ended: number }>()
  let count = 0
  const next = () => {
    count += 1
    return count
  }

  async function recordFor(ms: number, writer: number): Promise<void> {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const end = performance.now() + ms
    while (performance.now() < end) {
      const began = next()
      await client.query('begin')
      const numbers = Array.from({ length: 1 + (began % 3) }, next)
      for (const number of numbers) {
        await client.query(
          "insert into audit_events (at, kind, actor_kind, actor_id, via, detail) values (now(), 'session.started', 'service', 'test', 'job', jsonb_build_object('number', $1::int))",
          [number],
        )
        // Some are slow, so that transactions end in another order than they began.
        if (began % 5 === writer % 5) await sleep(began % 40)
      }
      const kept = began % 7 !== 0
      await client.query(kept ? 'commit' : 'rollback')
      const ended = next()
      if (kept) for (const number of numbers) history.set(number, { began, ended })
    }
    await client.end()
  }

  type Until = { over: boolean }

  /** Separate processes, one after the other. */
  async function killProcesses(until: Until): Promise<number> {
    let killed = 0
    while (!until.over) {
      const server = await startServerProcess({ DATABASE_URL: database.url })
      await sleep(1_050)
      await server.kill('SIGKILL')
      killed += 1
    }
    return killed
  }

  /** A sealer with small batches that is interrupted anywhere, over a connection that is closed. */
  async function sealUntil(until: Until): Promise<void> {
    const db = openPostgres(`${database.url}?application_name=sealer`, 1)
    while (!until.over) {
      await sealBatch({ db, config: { keys } as never }, 7).catch((error) => {
        if (!(error instanceof Unavailable)) throw error
      })
    }
    await db.close()
  }

  async function cutConnections(until: Until): Promise<number> {
    let cut = 0
    while (!until.over) {
      const rows = await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'sealer' and state <> 'idle' limit 1`,
      )
      cut += rows.length
      await sleep(30)
    }
    return cut
  }

  it('every committed event is sealed exactly once, and none that was rolled back', { timeout: 120_000 }, async () => {
    const until: Until = { over: false }
    const sealers = [sealUntil(until), sealUntil(until), sealUntil(until)]
    const cutting = cutConnections(until)
    const killing = killProcesses(until)
    await Promise.all(Array.from({ length: 12 }, (_, writer) => recordFor(6_000, writer)))
    until.over = true
    const [cut, killed] = [await cutting, await killing]
    await Promise.all(sealers)
    await log.seal()

    const rows = await sealed()
    console.log(`${rows.length} events by 12 writers; ${cut} sealers cut off, ${killed} processes killed`)
    expect(Math.min(cut, killed)).toBeGreaterThan(0)
    expect(rows.length).toBeGreaterThan(500)
    expect(rows.map(({ detail }) => detail.number ?? 0).sort((a, b) => a - b)).toEqual(
      [...history.keys()].sort((a, b) => a - b),
    )
    expect(rows.map(({ position }) => Number(position))).toEqual(rows.map((_, index) => index + 1))
    expect((await log.verify()).problem).toBeNull()
  })

  it('no event precedes one whose transaction ended before its own began', async () => {
    let latestBegin = 0
    const early: number[] = []
    for (const { detail } of await sealed()) {
      const { began, ended } = history.get(detail.number ?? 0) ?? { began: 0, ended: 0 }
      if (latestBegin > ended) early.push(detail.number ?? 0)
      latestBegin = Math.max(latestBegin, began)
    }
    expect(early).toEqual([])
  })
})

describe('the order', () => {
  it('waits for running transactions that write, and not for those that read', async () => {
    await log.record({})
    await log.seal()
    const slow = new pg.Client({ connectionString: database.url })
    const reader = new pg.Client({ connectionString: database.url })
    await Promise.all([slow.connect(), reader.connect()])
    await reader.query('begin isolation level repeatable read')
    await reader.query('select count(*) from audit_events')
    await slow.query('begin')
    await slow.query(
      "insert into audit_events (at, kind, actor_kind, actor_id, via) values (now(), 'role.created', 'service', 'test', 'job')",
    )
    await log.record({ kind: 'role.changed' })
    for (let turn = 0; turn < 3; turn += 1) await sealBatch({ db: log.db, config: { keys } as never })
    expect((await sealed()).filter(({ kind }) => kind.startsWith('role.'))).toEqual([])
    expect(await log.verify()).toMatchObject({ problem: null, young: 1, waiting: 0 })

    await slow.query('commit')
    await log.seal()
    expect((await sealed()).slice(-2).map(({ kind }) => kind)).toEqual(['role.created', 'role.changed'])
    await reader.query('rollback')
    await Promise.all([slow.end(), reader.end()])
  })

  it('a backlog is sealed in batches of ten thousand', async () => {
    await database.query(
      "insert into audit_events (at, kind, actor_kind, actor_id, via) select now(), 'grant.issued', 'service', 'test', 'job' from generate_series(1, 10700)",
    )
    const before = (await sealed()).length
    const told: string[] = []
    const sealer = createSealer({ db: log.db, config: { keys } as never, events: witness(told) })
    for (let turns = 0; (await sealed()).length === before && turns < 100; turns += 1) await sealer.run()
    expect((await sealed()).length - before).toBe(10_000)
    await log.seal()
    expect((await log.verify()).problem).toBeNull()
    expect(told).toEqual([])
  })
})

function witness(told: string[]): Events {
  return {
    auditHead: (position: number, hash: string) => told.push(`head ${position}:${hash}`),
    auditDiffers: (position: number) => told.push(`differs ${position}`),
  } as unknown as Events
}

describe('a process that seals', () => {
  it('notes the head, and detects when it is missing later', async () => {
    const told: string[] = []
    const sealer = createSealer({ db: log.db, config: { keys } as never, events: witness(told) })
    sealer.logHead()
    expect(told).toEqual([])
    await log.seal()
    await sealer.run()
    const { position, hash } = await log.head()
    sealer.logHead()
    expect(told).toEqual([`head ${position}:${hash.toString('hex')}`])

    await log.db.transaction(async (tx) => {
      await tx.query('set local session_replication_role = replica')
      await tx.query('delete from audit_events where id in (select event_id from audit_seals where position > $1)', [
        position - 2,
      ])
      await tx.query('delete from audit_seals where position > $1', [position - 2])
    })
    await log.record({}, {}, {})
    await log.seal()
    await sealer.run()
    await sealer.run()
    expect(told.slice(1)).toEqual([`differs ${position}`])
    expect((await log.verify()).problem).toBeNull()
    expect((await log.verify({ position, hash })).problem).toEqual({ kind: 'chopped', position })
  })

  it('seals events again, with the same hashes, if only the seals were lost', async () => {
    const noted = await log.head()
    await log.db.transaction(async (tx) => {
      await tx.query('set local session_replication_role = replica')
      await tx.query('delete from audit_seals where position > $1', [noted.position - 50])
    })
    await log.seal()
    expect(await log.head()).toEqual(noted)
  })
})

describe('keys', () => {
  it('each seal names its key, and verification needs every key used', async () => {
    const rotated = keysOf(`${createKey(2)},${TEST_KEYS}`)
    const before = await log.head()
    const later = openLog(database, rotated)
    await later.record({}, {})
    await later.seal()
    const [end] = (await sealed()).slice(-1)
    expect(end?.key_id).toBe(2)
    expect(await later.verify()).toMatchObject({
      problem: null,
      keys: [
        { keyId: 1, from: 1, to: before.position },
        { keyId: 2, from: before.position + 1, to: before.position + 2 },
      ],
    })
    expect((await log.verify()).problem).toEqual({ kind: 'key_missing', position: before.position + 1, keyId: 2 })
    const only = { signing: rotated.signing, byId: new Map([[2, rotated.signing]]) }
    expect((await later.verify(null, only)).problem).toEqual({ kind: 'key_missing', position: 1, keyId: 1 })
    await later.close()
  })
})

describe('an event dated long before its neighbours', () => {
  it('is sealed in its turn, and reported', async () => {
    const fresh = await createTestDatabase()
    const young = openLog(fresh, keys)
    await young.record({})
    await fresh.query(
      "insert into audit_events (at, kind, actor_kind, actor_id, via) values (now() - interval '3 days', 'session.started', 'service', 'test', 'job')",
    )
    await young.record({})
    await young.seal()
    expect(await young.verify()).toMatchObject({ problem: null, verified: 3, backdated: { count: 1, first: 2 } })
    await young.close()
    await fresh.drop()
  })
})

describe('a log that is not sealed', () => {
  it('is reported after a minute', async () => {
    const fresh = await createTestDatabase()
    const alone = openLog(fresh, keys)
    await alone.record({})
    await fresh.query(
      "insert into audit_events (at, kind, actor_kind, actor_id, via) values (now() - interval '2 minutes', 'session.started', 'service', 'test', 'job')",
    )
    expect(await alone.verify()).toMatchObject({ problem: null, young: 1, waiting: 1 })
    await alone.close()
    await fresh.drop()
  })
})

describe('a log moved to another PostgreSQL', () => {
  /** There, transaction ids were far higher; the last event was not sealed. */
  async function move(fresh: TestDatabase, moved: Log): Promise<AuditHead> {
    for (const [index, event] of makeEvents(5).entries()) {
      await fresh.query(
        "insert into audit_events (at, kind, actor_kind, actor_id, via, detail, xid) values (now(), $1, 'service', 'test', 'job', $2, $3)",
        [event.kind, event.detail, String(900_000_000_000 + index)],
      )
    }
    const last = {
      position: 0,
      eventId: '0',
      eventAt: '0',
      xid: '899999999999',
      keyId: 1,
      hash: NO_SEAL,
      fromElsewhere: true,
    }
    return moved.db.transaction(async (tx) => {
      const seals: AuditSeal[] = []
      for (const entry of (await readSealable(tx, last, 10)).slice(0, 4)) {
        const place = { position: seals.length + 1, previous: seals.at(-1)?.hash ?? NO_SEAL }
        seals.push({
          position: place.position,
          eventId: entry.id,
          eventAt: entry.at,
          xid: entry.xid,
          keyId: 1,
          hash: sealEntry(keys.signing, place, entry),
        })
      }
      await insertSeals(tx, seals)
      return { position: seals.length, hash: seals.at(-1)?.hash ?? NO_SEAL }
    })
  }

  it('is continued: first the moved events, then new ones', async () => {
    const fresh = await createTestDatabase()
    const moved = openLog(fresh, keys)
    const noted = await move(fresh, moved)
    expect(await moved.verify(noted)).toMatchObject({ problem: null, verified: 4, young: 1 })
    await moved.record({ kind: 'role.created' }, { kind: 'role.changed' })
    expect(await moved.verify(noted)).toMatchObject({ problem: null, young: 3 })
    await moved.seal()
    await moved.record({ kind: 'role.removed' })
    await moved.seal()
    const rows = await fresh.query<{ kind: string }>(
      'select e.kind from audit_seals s join audit_events e on e.id = s.event_id order by s.position',
    )
    expect(rows.slice(5).map(({ kind }) => kind)).toEqual(['role.created', 'role.changed', 'role.removed'])
    expect(await moved.verify(noted)).toMatchObject({ problem: null, verified: 8, young: 0, waiting: 0 })
    await moved.close()
    await fresh.drop()
  })
})
