/**
 * npm run measure:partitions: how long polls wait while a partition of device_codes is dropped, by method, without
 * and with a concurrent reader of the table. docs/decisions/0031-dropping-a-partition-never-waits.md has the figures.
 *
 * Polls are sent at a fixed rate, independent of earlier answers, and timed from when they were due: queueing
 * is counted. One in ten is a transaction that locks its code, as a poll with an outcome does.
 */
import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { lockDeviceCode, readDeviceCodeStatuses } from '../server/src/store/device/codes.ts'
import { openPostgres } from '../server/src/store/postgres/postgres.ts'
import { startOwnPostgres } from '../server/test/rig/engines/own-postgres.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    polls: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '4' },
    reader: { type: 'string', default: '20' },
  },
})
const [ROUNDS, POLLS_PER_SECOND, SECONDS, READER_SECONDS] = [
  Number(values.rounds),
  Number(values.polls),
  Number(values.seconds),
  Number(values.reader),
]
const TICK_MS = 5
const CODES = 50_000
const HOUR = 3_600_000

const postgres = await startOwnPostgres()
const db = openPostgres(postgres.url, 10)
const owner = new pg.Pool({ connectionString: postgres.url, max: 4 })
/** Polls that waited a second for a connection: the machine is too slow for this rate. */
let refused = 0
const live = await placeCodes(Date.now() - (Date.now() % HOUR) + HOUR)

/** A partition full of codes that expire in this hour. */
async function placeCodes(start: number): Promise<{ name: string; expiresAt: number }> {
  const expiresAt = start + HOUR / 2
  await owner.query('select make_device_code_partition($1)', [new Date(start)])
  await owner.query(
    `insert into device_codes (id, expires_at, created_at, application_id, variant, status, key_id, user_code_digits, user_code_digest, scopes, state)
     select md5(n::text)::uuid, $1, now(), 'app_000000000000', 'token_set', 'pending', 1, 9, uuid_send(md5(n::text)::uuid), '{}', ''
     from generate_series(1, ${CODES}) n`,
    [new Date(expiresAt)],
  )
  const [date = '', hour = ''] = new Date(start).toISOString().split(/[T:]/)
  return { name: `device_codes_${date.replaceAll('-', '')}${hour}`, expiresAt }
}

/** Each returns whether the partition was dropped. */
const ways: Readonly<Record<string, (partition: string) => Promise<boolean>>> = {
  'not at all': async () => false,
  'waiting half a second for the lock': async (partition) => {
    const client = await owner.connect()
    try {
      await client.query(`begin; set local lock_timeout = '500ms'; alter table device_codes detach partition ${partition};
        drop table ${partition}; commit`)
      return true
    } catch {
      await client.query('rollback')
      return false
    } finally {
      client.release()
    }
  },
  'nowait, retried for a second': async (partition) => {
    const { rows } = await owner.query('select drop_device_code_partition($1) as dropped', [partition])
    return rows[0]?.dropped === true
  },
  'concurrently, as the owner': async (partition) => {
    await owner.query(`alter table device_codes detach partition ${partition} concurrently`)
    await owner.query(`drop table ${partition}`)
    return true
  },
}

const randomPlace = () => {
  const number = 1 + Math.floor(Math.random() * CODES)
  const hex = hash('md5', String(number))
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { id, expiresAt: live.expiresAt }
}

/** Duration of each poll, in ms. */
async function pollFor(ms: number): Promise<number[]> {
  const took: number[] = []
  const polls: Promise<void>[] = []
  const startedAt = performance.now()
  for (let number = 0; performance.now() - startedAt < ms; await sleep(TICK_MS)) {
    const due = ((performance.now() - startedAt) * POLLS_PER_SECOND) / 1000
    for (; number < due; number += 1) {
      const dueAt = startedAt + (number * 1000) / POLLS_PER_SECOND
      polls.push(
        poll(number % 10 === 0).then(
          () => void took.push(performance.now() - dueAt),
          () => void refused++,
        ),
      )
    }
  }
  await Promise.all(polls)
  return took
}

async function poll(collects: boolean): Promise<void> {
  const place = randomPlace()
  if (collects) await db.transaction((tx) => lockDeviceCode(tx, place))
  else await readDeviceCodeStatuses(db.reads, [place])
}

/** Longest time that a poll waited for a table lock, as PostgreSQL reports it, independent of other load. */
async function watchQueue(): Promise<() => Promise<number>> {
  const client = await owner.connect()
  let longest = 0
  let stopped = false
  const watch = async () => {
    while (!stopped) {
      const { rows } = await client.query<{ ms: number }>(
        `select coalesce(max(extract(epoch from clock_timestamp() - waitstart)), 0)::float8 * 1000 as ms
         from pg_locks where locktype = 'relation' and not granted and mode in ('AccessShareLock', 'RowShareLock')`,
      )
      longest = Math.max(longest, rows[0]?.ms ?? 0)
      await sleep(1)
    }
    client.release()
    return longest
  }
  const watching = watch()
  return () => {
    stopped = true
    return watching
  }
}

async function startReading(): Promise<() => Promise<void>> {
  const client = await owner.connect()
  await client.query('begin')
  await client.query('select count(*) from device_codes')
  return async () => {
    await client.query('commit')
    client.release()
  }
}

const highest = (numbers: readonly number[]) => Math.round(Math.max(...numbers))
const median = (numbers: readonly number[]) => Math.round(numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0)
const spread = (numbers: readonly number[]) => ({ median: median(numbers), highest: highest(numbers) })

try {
  for (const read of [false, true]) {
    for (const [way, drop] of Object.entries(ways)) {
      const slowest: number[] = []
      const queued: number[] = []
      const dropMs: number[] = []
      let dropped = 0
      refused = 0
      for (let round = 0; round < ROUNDS; round += 1) {
        const old = await placeCodes(Date.parse('2026-01-01T00:00:00Z') + (slowest.length + 1) * HOUR)
        await pollFor(500)
        const stopReading = read ? await startReading() : null
        const stopWatching = await watchQueue()
        const polling = pollFor(SECONDS * 1000)
        await sleep(1_000)
        const startedAt = performance.now()
        const dropping = drop(old.name)
        const ended = dropping.finally(() => dropMs.push(performance.now() - startedAt))
        slowest.push(highest(await polling))
        queued.push(await stopWatching())
        if (stopReading) await sleep(Math.max(0, READER_SECONDS * 1000 - SECONDS * 1000)).then(stopReading)
        if (await ended) dropped += 1
        await owner.query(`drop table if exists ${old.name}`)
      }
      const figures = { queuedMs: spread(queued), slowestPollMs: spread(slowest), dropMs: median(dropMs) }
      console.log(JSON.stringify({ reader: read, way, ...figures, refused, dropped: `${dropped} of ${ROUNDS}` }))
    }
  }
} finally {
  await owner.end()
  await db.close()
  postgres.remove()
}
