/** `latchkey audit archive` and `verify --archive` as an operator types them, and killed in the middle. */
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKey } from '../../src/secrets/keyset.ts'
import { type Log, monthAgo, openLog, recordAt } from '../rig/audit.ts'
import { createTestDatabase, type TestDatabase } from '../rig/engines/database.ts'
import { makeConfig, makeEnvironment } from '../rig/make.ts'
import { EXECUTABLE } from '../rig/process/command.ts'

const [OLDEST, OLDER, THIS] = [monthAgo(2), monthAgo(1), monthAgo(0)]

let folder: string
let database: TestDatabase
let log: Log
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'archive-'))
  database = await createTestDatabase()
  log = openLog(database, makeConfig({ DATABASE_URL: database.url }).keys)
  for (const month of [OLDEST, OLDEST, OLDER]) await recordAt(database, `${month}-15T12:00:00Z`)
  await log.record({})
  await log.seal()
})
afterAll(async () => {
  await log.close()
  await database.drop()
  rmSync(folder, { recursive: true })
})

const environment = (given: Record<string, string> = {}) => ({
  PATH: process.env.PATH,
  ...makeEnvironment({ DATABASE_URL: database.url, ...given }),
})

function run(args: string[], given: Record<string, string> = {}) {
  const result = spawnSync(process.execPath, [EXECUTABLE, 'audit', ...args], {
    env: environment(given),
    encoding: 'utf8',
  })
  return { status: result.status, stdout: result.stdout.trim(), stderr: result.stderr.trim() }
}

const file = () => join(folder, `${OLDEST}.ndjson`)

it('a role that does not own the tables is told so', async () => {
  const role = `stranger_${randomBytes(6).toString('hex')}`
  await database.query(`create role ${role} login password 'x'; grant select on all tables in schema public to ${role}`)
  const url = Object.assign(new URL(database.url), { username: role, password: 'x' }).toString()
  const told = run(['archive', '--before', THIS, '--to', file()], { DATABASE_URL: url })
  await database.query(`drop owned by ${role}; drop role ${role}`)
  expect(told).toEqual({
    status: 1,
    stdout: '',
    stderr: `The role ${role} does not own the audit log. Give the owner’s DATABASE_URL for this command, as for "latchkey migrate".`,
  })
})

it.each([
  [['archive', '--before', 'yesterday', '--to', 'x'], 'The format of a month is YYYY-MM'],
  [['archive', '--before', '2026-13', '--to', 'x'], 'The format of a month is YYYY-MM'],
  [['archive', '--before', monthAgo(-1), '--to', 'x'], `${THIS} is not over: --before takes ${THIS} at the latest.`],
  [['verify', '--archive', '/nowhere/at/all'], '/nowhere/at/all cannot be read'],
])('%j is told what is wrong', (args, words) => {
  const told = run(args)
  expect([told.status, told.stdout]).toEqual([1, ''])
  expect(told.stderr).toContain(words)
  expect(told.stderr).not.toContain('    at ')
})

it('killed while it waits for a transaction, it goes on when it is run again', async () => {
  const slow = new pg.Client({ connectionString: database.url })
  await slow.connect()
  await slow.query('begin')
  await slow.query('select count(*) from audit_events')
  const child = spawn(process.execPath, [EXECUTABLE, 'audit', 'archive', '--before', THIS, '--to', file()], {
    env: environment(),
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  const waits = () =>
    database.query(
      "select from pg_stat_activity where query like 'alter table audit_events detach%' and wait_event_type = 'Lock'",
    )
  while ((await waits()).length === 0) await sleep(20)
  child.kill('SIGKILL')
  await exited
  const pids = await database.query<{ pid: number }>(
    "select pid from pg_stat_activity where query like 'alter table audit_events detach%' and pid <> pg_backend_pid()",
  )
  for (const { pid } of pids) await database.query('select pg_terminate_backend($1)', [pid])
  await slow.query('rollback')
  await slow.end()
  while ((await database.query("select from pg_locks where locktype = 'advisory' and objid = 7018005")).length > 0)
    await sleep(20)

  expect(run(['archive', '--before', THIS, '--to', file()])).toEqual({
    status: 0,
    stderr: '',
    stdout: `${OLDEST}, 2 entries (positions 1 to 2, signed with key 1): written to ${file()} and removed from the database.\nFurther months before ${THIS}: ${OLDER}.`,
  })
})

it('the rest of the log and the file are verified, each on its own', async () => {
  await log.seal()
  const verified = run(['verify'])
  expect([verified.status, verified.stderr]).toEqual([0, ''])
  expect(verified.stdout).toMatch(
    /^The audit log is unchanged: 3 entries \(key 1: 3 to 5\)\.\nArchived, with matching records: 2 entries\.\nHead: 5:/,
  )
  // Without a database.
  expect(run(['verify', '--archive', file()], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })).toEqual({
    status: 0,
    stderr: '',
    stdout: `The archive is unchanged: ${OLDEST}, 2 entries (positions 1 to 2, signed with key 1).`,
  })
  const told = JSON.parse(run(['verify', '--archive', file(), '--json']).stdout)
  expect(told).toEqual({
    intact: true,
    problem: null,
    archived: { month: OLDEST, events: 2, positions: [{ from: 1, to: 2 }], sha256: expect.any(String), key: 1 },
  })
})

it('a file that was changed ends with status 3, a key that is not given with status 1', () => {
  const changed = join(folder, 'changed.ndjson')
  writeFileSync(changed, readFileSync(file(), 'utf8').replace('session.started', 'session.Started'))
  expect(run(['verify', '--archive', changed])).toEqual({
    status: 3,
    stdout: '',
    stderr: `${changed}: line 1 does not match its seal. Entries were changed, removed or inserted there.`,
  })
  expect(run(['verify', '--archive', file()], { LATCHKEY_KEYS: createKey(7) })).toMatchObject({ status: 1 })
})

it('a head that was noted in the archived time is looked for in the file', async () => {
  const [first] = readFileSync(file(), 'utf8').split('\n')
  const head = `1:${JSON.parse(first ?? '').hash}`
  expect(run(['verify', '--since-head', head])).toMatchObject({
    status: 1,
    stderr: `The head is in the archive of ${OLDEST}: pass that file with --archive together with --since-head.`,
  })
  expect(run(['verify', '--archive', file(), '--since-head', head]).status).toBe(0)
  expect(run(['verify', '--archive', file(), '--since-head', `1:${'ab'.repeat(32)}`]).status).toBe(3)
})

it('when there is nothing more, that is said', () => {
  const more = join(folder, `${OLDER}.ndjson`)
  expect(JSON.parse(run(['archive', '--before', THIS, '--to', more, '--json']).stdout)).toMatchObject({
    archived: { month: OLDER, events: 1 },
    more: [],
  })
  expect(run(['archive', '--before', THIS, '--to', join(folder, 'x')])).toEqual({
    status: 0,
    stderr: '',
    stdout: `Nothing to archive before ${THIS}.`,
  })
})
