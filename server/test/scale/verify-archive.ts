/**
 * Checks that recording events is not delayed while a month of the audit log is archived.
 *
 *   npm run verify:archive                          a past month with a million events
 *   npm run verify:archive -- --events 20000        short form; less is refused
 *
 * Fills a past month and seals it as the service does. Then, while a server runs and this process records fifty events
 * per second, `latchkey audit archive` writes the month to a file and removes it. At the end the file and the rest of the log
 * verify; with one byte of the file or one row of the rest changed, they do not.
 *
 * An insert that waits for a lock for longer than 100 ms fails. In the long form, a slow insert without a lock wait is a
 * failure, too, unless inserts into an unrelated table at the same moments took at least half as long: then the machine was slow.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startEngines } from '../../../tools/engines.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { byService } from '../../src/core/audit/actor.ts'
import { sealBatch } from '../../src/flows/audit/seal.ts'
import { recordEvent } from '../../src/store/audit/events.ts'
import { openPostgres, type Postgres } from '../../src/store/postgres/postgres.ts'
import { monthAgo } from '../rig/audit.ts'
import { createTestDatabase } from '../rig/engines/database.ts'
import { makeConfig, makeEnvironment } from '../rig/make.ts'
import { startServerProcess } from '../rig/process/server-process.ts'

const EXECUTABLE = new URL('../../dist/latchkey.js', import.meta.url).pathname

/** Limits of the lock wait, and of the whole insert from acquiring a connection to its commit. */
const MAX_MS = 100

/** Fifty per second. */
const EVERY_MS = 20

const MIN_EVENTS = 20_000
const CHUNK = 50_000
const SEALED_AT_ONCE = 5_000

const { values } = parseArgs({ options: { events: { type: 'string', default: '1000000' } } })
const count = Number(values.events)
/** The short form runs at the same time as other proofs, which may take the processor: it checks lock waits only. */
const judgesTime = count > MIN_EVENTS
if (!(Number.isInteger(count) && count >= MIN_EVENTS)) throw new Error(`--events takes ${MIN_EVENTS} or more`)

if (!process.env.DATABASE_URL) process.env.DATABASE_URL = (await startEngines()).databaseUrl

const [month, thisMonth] = [monthAgo(1), monthAgo(0)]
const folder = mkdtempSync(join(tmpdir(), 'archive-'))
const file = join(folder, `${month}.ndjson`)
const database = await createTestDatabase()
const db = openPostgres(database.url, 4)
const bystander = openPostgres(database.url, 4)
const problems: string[] = []
try {
  await fill()
  await sealAll()
  const server = await startServerProcess({ DATABASE_URL: database.url })
  await sleep(2_000)
  await database.query('create table bystanders (at timestamptz not null, detail jsonb not null)')
  const inserts = startInserts(() => insert(db))
  const elsewhere = startInserts(() => insertElsewhere(bystander))
  await sleep(1_000)
  const begun = performance.now()
  const archived = await latchkey('archive', '--before', thisMonth, '--to', file, '--json')
  const seconds = (performance.now() - begun) / 1000
  await sleep(1_000)
  const measured = await inserts.stop()
  const bystanders = await elsewhere.stop()
  await server.kill('SIGTERM')
  if (archived.status !== 0) problems.push(`archiving ended with ${archived.status}: ${archived.stderr}`)
  if (measured.failed > 0) problems.push(`${measured.failed} inserts failed`)
  if (judgesTime && measured.slowestMs > Math.max(MAX_MS, 2 * bystanders.slowestMs)) {
    const max = `the most is ${MAX_MS} ms, or twice the ${bystanders.slowestMs} ms of inserts elsewhere`
    problems.push(`an insert took ${measured.slowestMs} ms; ${max}`)
  }

  const chain = await latchkey('verify')
  const archivedChain = await latchkey('verify', '--archive', file)
  for (const { status, stderr } of [chain, archivedChain]) if (status !== 0) problems.push(stderr)
  await expectDetected('a byte of the file', changeByte, ['--archive', file])
  await expectDetected('a row of the rest', changeRow, [])

  say(
    `${seconds.toFixed(1)} s for the archive of ${statSync(file).size} bytes; the slowest insert elsewhere took ${bystanders.slowestMs} ms`,
  )
  const verdict = ({ status }: Ended) => (status === 0 ? 'ok' : 'broken')
  const events = JSON.parse(archived.stdout || '{}').archived?.events ?? 0
  if (events !== count) problems.push(`${events} of ${count} events were archived`)
  say(
    `archive: events=${count} archived=${events} inserts=${measured.inserts} slowest_ms=${measured.slowestMs} chain=${verdict(chain)} archived_chain=${verdict(archivedChain)}`,
  )
} finally {
  await db.close()
  await bystander.close()
  await database.drop()
  removeFolder(folder)
}
for (const problem of problems) say(`FAILED: ${problem}`)
if (problems.length > 0) process.exitCode = 1

/** Evenly over the month. An event of this month comes last: the end of the chain stays. */
async function fill(): Promise<void> {
  for (let from = 1; from <= count; from += CHUNK) {
    await database.query(
      `insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, grant_id, device_code_id, detail)
       select $1::timestamptz + i * interval '27 days' / $4::int, 'grant.created', 'user', 'usr_' || lpad((i % 5000)::text, 12, '0'), 'web',
         'acc_' || lpad((i % 300)::text, 12, '0'), 'usr_' || lpad((i % 5000)::text, 12, '0'), 'app_' || lpad((i % 50)::text, 12, '0'),
         gen_random_uuid(), gen_random_uuid(), jsonb_build_object('variant', 'token_set', 'scopes', array['orders:read'])
       from generate_series($2::int, $3::int) i`,
      [`${month}-01T00:00:00Z`, from, Math.min(count, from + CHUNK - 1), count],
    )
  }
  await database.query('analyze audit_events')
  say(`${count} events are in ${month}`)
}

async function sealAll(): Promise<void> {
  const config = makeConfig({ DATABASE_URL: database.url })
  const begun = performance.now()
  await insert(db)
  let sealed = 0
  // Another transaction in the same PostgreSQL may delay it.
  while (sealed < count + 1) {
    const more = await sealBatch({ db, config }, SEALED_AT_ONCE)
    if (more === 0) await sleep(100)
    sealed += more
  }
  await database.query('analyze audit_seals')
  say(`and sealed, in ${((performance.now() - begun) / 1000).toFixed(1)} s`)
}

function insert(by: Postgres): Promise<void> {
  return by.transaction(async (tx) => {
    await tx.query(`set local lock_timeout = ${MAX_MS}`)
    await recordEvent(tx, { kind: 'session.started', actor: byService('test'), detail: { how: 'password' } })
  })
}

function insertElsewhere(by: Postgres): Promise<void> {
  return by.transaction(async (tx) => {
    await tx.query(`set local lock_timeout = ${MAX_MS}`)
    await tx.query(`insert into bystanders values (now(), '{"how": "password"}')`)
  })
}

/** One starts every 20 ms, independent of earlier ones. */
function startInserts(one: () => Promise<void>) {
  let [inserts, failed, slowest] = [0, 0, 0]
  const running = new Set<Promise<void>>()
  const timed = async () => {
    const begun = performance.now()
    try {
      await one()
      inserts += 1
    } catch (error) {
      failed += 1
      say((error as Error).message)
    }
    slowest = Math.max(slowest, performance.now() - begun)
  }
  const timer = setInterval(() => {
    const each = timed().finally(() => running.delete(each))
    running.add(each)
  }, EVERY_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      await Promise.all(running)
      return { inserts, failed, slowestMs: Math.round(slowest) }
    },
  }
}

type Ended = { readonly status: number; readonly stdout: string; readonly stderr: string }

async function latchkey(...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [EXECUTABLE, 'audit', ...args], {
    env: { PATH: process.env.PATH, ...makeEnvironment({ DATABASE_URL: database.url }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (data) => {
    stdout += data
  })
  child.stderr.on('data', (data) => {
    stderr += data
  })
  const [status] = await once(child, 'close')
  return { status: status ?? -1, stdout, stderr: stderr.trim() }
}

/** Makes and reverts `change`; in between, verification must exit with status 3. */
async function expectDetected(what: string, change: () => Promise<void>, args: readonly string[]): Promise<void> {
  await change()
  const { status, stderr } = await latchkey('verify', ...args)
  if (status === 3) say(`${what}, changed: ${stderr}`)
  else problems.push(`${what} was changed, and verifying ended with ${status}`)
  await change()
}

/** Flips a byte in the middle; the next call flips it back. */
async function changeByte(): Promise<void> {
  const middle = Math.floor(statSync(file).size / 2)
  const byte = Buffer.alloc(1)
  const handle = openSync(file, 'r+')
  readSync(handle, byte, 0, 1, middle)
  byte[0] = (byte[0] ?? 0) ^ 1
  writeSync(handle, byte, 0, 1, middle)
  closeSync(handle)
}

/** As a superuser, without triggers. */
function changeRow(): Promise<void> {
  return db.transaction(async (tx) => {
    await tx.query('set local session_replication_role = replica')
    await tx.query(
      `update audit_events set actor_id = case actor_id when 'test' then 'Test' else 'test' end
       where (id, at) = (select event_id, event_at from audit_seals order by position limit 1 offset 20)`,
    )
  })
}

function say(line: string): void {
  console.log(line)
}
