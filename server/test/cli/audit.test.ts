/** `latchkey audit` as an operator types it: words, JSON, exit status, and a log that is printed as fast as it is read. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/secrets/keyset.ts'
import { openPostgres, type Postgres } from '../../src/store/postgres/postgres.ts'
import { createTestDatabase, type TestDatabase } from '../rig/engines/database.ts'
import { makeAccount, makeEnvironment, makeUser, TEST_KEYS } from '../rig/make.ts'
import { startServerProcess } from '../rig/process/server-process.ts'

const EXECUTABLE = new URL('../../dist/latchkey.js', import.meta.url).pathname

let database: TestDatabase
let db: Postgres
let account: { slug: string }
let lastWords: string
beforeAll(async () => {
  database = await createTestDatabase()
  db = openPostgres(database.url, 2)
  const server = await startServerProcess({ DATABASE_URL: database.url })
  account = await makeAccount(db)
  await makeAccount(db)
  for (let user = 0; user < 3; user += 1) await makeUser(db, account.slug)
  for (let looks = 0; (await unsealed()) > 0 && looks < 200; looks += 1) await sleep(100)
  await server.kill('SIGTERM')
  lastWords = server.log()
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

async function unsealed(): Promise<number> {
  const [row] = await database.query<{ left: string }>(
    'select (select count(*) from audit_events) - (select count(*) from audit_seals) as left',
  )
  return Number(row?.left)
}

const environment = (given: Record<string, string> = {}) => ({
  PATH: process.env.PATH,
  ...makeEnvironment({ DATABASE_URL: database.url, ...given }),
})

function run(args: string[], given: Record<string, string> = {}) {
  const result = spawnSync(process.execPath, [EXECUTABLE, 'audit', ...args], {
    env: environment(given),
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  return { status: result.status, stdout: result.stdout.trim(), stderr: result.stderr.trim() }
}
const json = (args: string[]) => JSON.parse(run([...args, '--json']).stdout)
const lines = (args: string[]) => {
  const { status, stdout } = run(['export', ...args])
  expect(status).toBe(0)
  return stdout.split('\n').map((line) => JSON.parse(line))
}

/** Done behind the back of the triggers, and put right again. */
async function meanwhile(change: string, back: string, work: () => void): Promise<void> {
  const both = (statement: string) =>
    db.transaction(async (tx) => {
      await tx.query('set local session_replication_role = replica')
      await tx.query(statement)
    })
  await both(change)
  try {
    work()
  } finally {
    await both(back)
  }
}

describe('a log that is as it was sealed', () => {
  it('is said so, with its head, which the service noted when it stopped', () => {
    const head = run(['head'])
    expect(head.status).toBe(0)
    expect(head.stdout).toMatch(/^\d+:[0-9a-f]{64}$/)
    expect(lastWords).toContain(`"event":"audit_head","head":"${head.stdout}"`)
    const [position, hash] = head.stdout.split(':')
    expect(json(['head'])).toEqual({ position: Number(position), hash })

    const verified = run(['verify'])
    expect(verified).toMatchObject({ status: 0, stderr: '' })
    expect(verified.stdout).toBe(
      `The audit log is unchanged: ${position} entries (key 1: 1 to ${position}).\nHead: ${head.stdout}`,
    )
    expect(run(['verify', '--since-head', head.stdout]).status).toBe(0)
    expect(json(['verify'])).toEqual({
      intact: true,
      problem: null,
      verified: Number(position),
      detached: 0,
      head: { position: Number(position), hash },
      keys: [{ key: 1, from: 1, to: Number(position) }],
      not_sealed_yet: 0,
      waiting: 0,
      backdated: null,
    })
  })
})

describe('a log that is not ends with status 3', () => {
  it('and says where and what', async () => {
    await meanwhile(
      "update audit_events set kind = 'role.removed' where id = 2",
      "update audit_events set kind = 'account.created' where id = 2",
      () => {
        expect(run(['verify'])).toEqual({
          status: 3,
          stdout: '',
          stderr: 'Position 2: entry 2 was changed since it was sealed.',
        })
        const told = run(['verify', '--json'])
        expect([told.status, JSON.parse(told.stdout)]).toEqual([
          3,
          expect.objectContaining({
            intact: false,
            verified: 1,
            problem: { kind: 'changed', position: 2, eventId: '2' },
          }),
        ])
      },
    )
    expect(run(['verify']).status).toBe(0)
  })

  it('also when only a head that was noted tells', () => {
    const { position } = json(['head'])
    const noted = run(['verify', '--since-head', `${position + 1}:${'ab'.repeat(32)}`])
    expect(noted.status).toBe(3)
    expect(noted.stderr).toBe(
      `The log does not contain the given head at position ${position + 1}: it was truncated or rebuilt.`,
    )
  })

  it('while other keys than the service’s are something to fix', () => {
    const other = run(['verify'], { LATCHKEY_KEYS: createKey(7) })
    expect(other).toMatchObject({ status: 1 })
    expect(other.stderr).toContain('Position 1 was sealed with key 1, which is not in LATCHKEY_KEYS.')
    const wrong = run(['verify'], { LATCHKEY_KEYS: createKey(1) })
    expect(wrong.status).toBe(3)
    expect(wrong.stderr).toContain('Are these the keys of this service?')
    const more = run(['verify'], { LATCHKEY_KEYS: `${createKey(9)},${TEST_KEYS}` })
    expect(more.status).toBe(0)
  })

  it.each([['12'], ['0:ab'], ['1:xyz'], ['-1:'.padEnd(67, 'a')]])('%s is no head', (head) => {
    const result = run(['verify', '--since-head', head])
    expect(result.status).toBe(1)
    expect(result.stderr).toContain('A head is a position and 64 hexadecimal digits')
  })
})

describe('a log to take along', () => {
  it('has one entry per line, the oldest first, and that it was printed becomes one', async () => {
    const before = lines([])
    expect(before.map(({ id }) => id)).toEqual(before.map((_, index) => index + 1))
    expect(before[0]).toMatchObject({ kind: 'account.created', who: 'operator', account: account.slug, position: 1 })
    expect(before[0].hash).toMatch(/^[0-9a-f]{64}$/)
    const own = lines(['--account', account.slug])
    expect(own.map(({ kind }) => kind)).toEqual(['account.created', 'user.created', 'user.created', 'user.created'])
    const exports = lines(['--kind', 'audit.exported', '--kind', 'role.created'])
    expect(exports.map(({ account: whose, detail }) => [whose, detail])).toEqual([
      [null, { format: 'ndjson', rows: before.length }],
      [account.slug, { format: 'ndjson', rows: 4 }],
    ])
  })

  it('of some days', () => {
    const today = new Date().toISOString().slice(0, 10)
    expect(lines(['--since', today, '--until', today]).length).toBeGreaterThan(4)
    expect(run(['export', '--until', '2020-01-01']).stdout).toBe('')
    expect(run(['export', '--since', `${today}T00:00:00Z`, '--until', `${today}T00:00:00+00:00`]).stdout).toBe('')
  })

  it('as a table', () => {
    const [heading, first] = run(['export', '--format', 'csv', '--account', account.slug]).stdout.split('\r\n')
    expect(heading).toBe(
      'id,at,kind,who,actor_kind,actor_id,via,account,user_id,person,application_id,application,grant_id,device_code_id,request_id,detail,position,hash',
    )
    expect(first).toContain(`,account.created,operator,operator,cli,cli,${account.slug},`)
  })

  it.each([
    [['--account', 'nobody'], 'There is no account "nobody".'],
    [['--since', 'yesterday'], 'The format is 2026-11-15 for a day'],
    [['--until', '2026-02-30'], 'The format is 2026-11-15 for a day'],
    [['--kind', 'moon.landed'], 'Allowed choices are account.created,'],
    [['--format', 'xml'], 'Allowed choices are csv, ndjson.'],
  ])('%j is told what is wrong', (args, words) => {
    const result = run(['export', ...args])
    expect([result.status, result.stdout]).toEqual([1, ''])
    expect(result.stderr).toContain(words)
    expect(result.stderr).not.toContain('    at ')
  })

  it('ends quietly when nobody reads on', async () => {
    await database.query(
      "insert into audit_events (at, kind, actor_kind, actor_id, via, detail) select now(), 'grant.issued', 'service', 'test', 'job', jsonb_build_object('reason', repeat('x', 500)) from generate_series(1, 20000)",
    )
    const child = spawn(process.execPath, [EXECUTABLE, 'audit', 'export'], {
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let errors = ''
    child.stderr.on('data', (data) => {
      errors += data
    })
    await once(child.stdout, 'data')
    child.stdout.destroy()
    const [status] = await once(child, 'exit')
    expect([status, errors]).toEqual([0, ''])
  })

  it('entries that wait for longer than a minute are reported', async () => {
    await database.query(
      "insert into audit_events (at, kind, actor_kind, actor_id, via) values (now() - interval '2 minutes', 'grant.issued', 'service', 'test', 'job')",
    )
    const result = run(['verify'])
    expect(result.status).toBe(1)
    expect(result.stderr).toMatch(/^\d+ entr(y|ies) without a seal for more than a minute\. Is the service running\?$/)
  })
})
