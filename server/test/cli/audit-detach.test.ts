/** A month leaves the audit log as docs/operations/audit-log.md, "Archiving" says: its commands, as written, with pg_dump and pg_restore. */
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresFolder } from '../../../tools/engine-processes.ts'
import { blocksOf } from '../../../tools/install/document.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { createKey } from '../../src/secrets/keyset.ts'
import { type Log, monthAgo, openLog, recordAt } from '../rig/audit.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  type EmptyDatabase,
  type TestDatabase,
} from '../rig/engines/database.ts'
import { runStatements } from '../rig/engines/postgres-programs.ts'
import { makeConfig, makeEnvironment } from '../rig/make.ts'
import { EXECUTABLE } from '../rig/process/command.ts'

const [OLDEST, OLDER, THIS] = [monthAgo(2), monthAgo(1), monthAgo(0)]
const PAGE = 'docs/operations/audit-log.md'

let folder: string
let database: TestDatabase
let restored: EmptyDatabase
let log: Log
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'detach-'))
  writeFileSync(join(folder, 'latchkey'), `#!/bin/sh\nexec ${process.execPath} ${EXECUTABLE} "$@"\n`, { mode: 0o755 })
  database = await createTestDatabase()
  restored = await createEmptyDatabase()
  log = openLog(database, makeConfig({ DATABASE_URL: database.url }).keys)
  for (const month of [OLDEST, OLDEST, OLDER, OLDEST]) await recordAt(database, `${month}-15T12:00:00Z`)
  await log.record({})
  await log.seal()
})
afterAll(async () => {
  await log.close()
  await restored.drop()
  await database.drop()
  removeFolder(folder)
})

function end(command: string, args: readonly string[], environment: Record<string, string | undefined>) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    env: { PATH: `${folder}:${postgresFolder()}:${process.env.PATH}`, ...environment },
    cwd: folder,
    encoding: 'utf8',
  })
  return { status, stdout: stdout.trim(), stderr: stderr.trim() }
}

const run = (args: readonly string[], given: Record<string, string> = {}) =>
  end('latchkey', ['audit', ...args], makeEnvironment({ DATABASE_URL: database.url, ...given }))

/** The commands of a section for this month instead of that of the page. */
function follow(heading: string, month: string) {
  const commands = blocksOf(heading, PAGE).map(({ text }) => text)
  const text = commands.join('').replaceAll('2026-08', month).replaceAll('202608', month.replace('-', ''))
  const urls = { OWNER_URL: database.url, RESTORED_URL: restored.url }
  return end('sh', ['-e', '-c', text], { ...makeEnvironment({ DATABASE_URL: database.url }), ...urls })
}

it('a role that does not own the tables is told so', async () => {
  const role = `stranger_${randomBytes(6).toString('hex')}`
  await database.query(`create role ${role} login password 'x'; grant select on all tables in schema public to ${role}`)
  const url = Object.assign(new URL(database.url), { username: role, password: 'x' }).toString()
  const told = run(['detach', OLDEST], { DATABASE_URL: url })
  await database.query(`drop owned by ${role}; drop role ${role}`)
  expect(told).toEqual({
    status: 1,
    stdout: '',
    stderr: `The role ${role} does not own the audit log. Give the owner’s DATABASE_URL for this command, as for "latchkey migrate".`,
  })
})

it.each([
  [['detach', 'yesterday'], 'The format of a month is YYYY-MM'],
  [['detach', '2026-13'], 'The format of a month is YYYY-MM'],
  [['detach', THIS], `${THIS} is not over`],
  [['verify', '--month', '2026-13'], 'The format of a month is YYYY-MM'],
  [['verify', '--month', OLDEST], `There is no record of ${OLDEST} in this database: it was not detached here.`],
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
  const child = spawn(process.execPath, [EXECUTABLE, 'audit', 'detach', OLDEST], {
    env: { PATH: process.env.PATH, ...makeEnvironment({ DATABASE_URL: database.url }) },
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

  const suffix = OLDEST.replace('-', '')
  expect(follow('Detach a month and dump it', OLDEST)).toEqual({
    status: 0,
    stderr: '',
    stdout: `Detached ${OLDEST}, 3 entries: audit_events_${suffix}, audit_seals_${suffix}. The record of its last seal, at position 4, is signed with key 1.`,
  })
})

describe('after the steps of the page', () => {
  it('the restored dump verifies', () => {
    const told = follow('Restore and verify a dump', OLDEST)
    expect([told.status, told.stderr]).toEqual([0, ''])
    expect(told.stdout).toMatch(new RegExp(`^${OLDEST} is unchanged: 3 entries \\(key 1: 1 to 4\\)\\.\nHead: 4:`, 'm'))
  })

  it('the rest of the log verifies, without the tables of the month', async () => {
    await log.seal()
    const told = follow('Drop the tables and keep the dump', OLDEST)
    expect([told.status, told.stderr]).toEqual([0, ''])
    expect(told.stdout).toMatch(
      /^The audit log is unchanged: 3 entries \(key 1: 3 to 6\)\.\nDetached, with matching records: 3 entries\.\nHead: 6:/m,
    )
    expect(JSON.parse(run(['verify', '--json']).stdout)).toMatchObject({ intact: true, verified: 3, detached: 3 })
  })

  it('a changed row of the restored dump is found', async () => {
    const events = `audit_events_${OLDEST.replace('-', '')}`
    await runStatements(
      restored.url,
      'set session_replication_role = replica',
      `update ${events} set detail = '{}' where id = 2`,
    )
    const told = run(['verify', '--month', OLDEST], { DATABASE_URL: restored.url })
    expect(told).toEqual({ status: 3, stdout: '', stderr: 'Position 2: entry 2 was changed since it was sealed.' })
    // Restored again, over the changed one.
    expect(follow('Restore and verify a dump', OLDEST).status).toBe(0)
  })

  it('a key that is not given ends with status 1', () => {
    const given = { DATABASE_URL: restored.url, LATCHKEY_KEYS: createKey(7) }
    expect(run(['verify', '--month', OLDEST], given)).toMatchObject({ status: 1 })
  })

  it('a head that was noted in the detached month is looked for in the restored dump', async () => {
    const [head] = await runStatements(
      restored.url,
      `select position || ':' || encode(hash, 'hex') as text from audit_seals_${OLDEST.replace('-', '')} where position = 1`,
    )
    expect(run(['verify', '--since-head', head.text])).toMatchObject({
      status: 1,
      stderr: `The head is in ${OLDEST}, which was detached: restore its dump and verify it with --month together with --since-head.`,
    })
    const given = { DATABASE_URL: restored.url }
    const inMonth = ['verify', '--month', OLDEST, '--since-head']
    expect(run([...inMonth, head.text], given).status).toBe(0)
    expect(run([...inMonth, `1:${'ab'.repeat(32)}`], given).status).toBe(3)
  })

  it('a second month leaves the same way, into the same database', async () => {
    for (const heading of ['Detach a month and dump it', 'Restore and verify a dump']) {
      expect(follow(heading, OLDER)).toMatchObject({ status: 0, stderr: '' })
    }
    expect(run(['verify', '--month', OLDEST], { DATABASE_URL: restored.url }).status).toBe(0)
  })

  it('a month whose dump is not restored is found missing', () => {
    expect(follow('Drop the tables and keep the dump', OLDER).status).toBe(0)
    const suffix = OLDER.replace('-', '')
    expect(run(['verify', '--month', OLDER])).toEqual({
      status: 1,
      stdout: '',
      stderr: `Not in this database: audit_events_${suffix}, audit_seals_${suffix}. Restore the dump of ${OLDER}.`,
    })
  })

  it('a month that was dropped without being detached is found missing', async () => {
    const fresh = await createTestDatabase()
    const other = openLog(fresh, makeConfig({ DATABASE_URL: fresh.url }).keys)
    for (const month of [OLDEST, OLDER, OLDER]) await recordAt(fresh, `${month}-15T12:00:00Z`)
    await other.record({})
    await other.seal()
    const suffix = OLDER.replace('-', '')
    await fresh.query(`drop table audit_events_${suffix}, audit_seals_${suffix}`)
    expect(run(['verify'], { DATABASE_URL: fresh.url })).toEqual({
      status: 3,
      stdout: '',
      stderr: 'Positions 2 to 3 are missing, and no record of a detached month contains them.',
    })
    await other.close()
    await fresh.drop()
  })
})
