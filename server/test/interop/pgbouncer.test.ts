/**
 * The service behind a real PgBouncer in transaction mode, with deploy/pgbouncer/pgbouncer.ini.
 * docs/operations/connections.md, "Connection poolers".
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { examinePostgres } from '../../src/cli/doctor/postgres.ts'
import { eraseClosedAccounts } from '../../src/flows/accounts/close.ts'
import { countDays } from '../../src/flows/applications/days.ts'
import { createSealer } from '../../src/flows/audit/seal.ts'
import { judgeApplications } from '../../src/flows/reviews/judge.ts'
import { recordRefusals } from '../../src/flows/sign-in/refusals.ts'
import { sweep } from '../../src/flows/sweep.ts'
import { migrate, pendingMigrations } from '../../src/store/postgres/migrate.ts'
import { openPostgres, openSession } from '../../src/store/postgres/postgres.ts'
import { askMe } from '../rig/connect.ts'
import { allow, exchange, makeDialogApplication, refresh } from '../rig/dialog.ts'
import { createEmptyDatabase, createTestDatabase } from '../rig/engines/database.ts'
import { type PgBouncer, startPgBouncer } from '../rig/engines/pgbouncer.ts'
import { startServerProcess } from '../rig/process/server-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const POOL_SIZE = 3

/** As patient as the rest of the rig: on a busy machine, a transaction waits longer for a connection. */
const patient = (text: string) => text.replace(/^query_wait_timeout = \d+$/m, 'query_wait_timeout = 60')

let bouncer: PgBouncer
beforeAll(async () => {
  bouncer = await startPgBouncer(POOL_SIZE, patient)
})
afterAll(() => bouncer.remove())

async function emptyDatabase() {
  const database = await createEmptyDatabase()
  onTestFinished(() => database.drop())
  return database
}

describe('migrations', () => {
  it('run through it, from several processes at once, and leave no lock, setting or table behind', async () => {
    const { url } = await emptyDatabase()
    const pooled = bouncer.through(url)
    const all = await pendingMigrations(pooled)
    expect(all).not.toEqual([])
    const applied = await Promise.all([migrate(pooled), migrate(pooled), migrate(pooled)])
    expect(applied.map((names) => names.length).sort()).toEqual([0, 0, all.length])
    expect(await pendingMigrations(pooled)).toEqual([])
    const client = new pg.Client({ connectionString: pooled })
    await client.connect()
    const { rows } = await client.query(
      `select (select count(*)::int from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())) as locks,
         current_setting('lock_timeout') as lock_timeout, to_regclass('pg_temp.migrations') as temporary`,
    )
    await client.end()
    expect(rows).toEqual([{ locks: 0, lock_timeout: '1500ms', temporary: null }])
  })

  it('that run outside a transaction are refused through it: their settings would be those of another session', async () => {
    const { url } = await emptyDatabase()
    const folder = new URL('../store/online-migrations/', import.meta.url)
    await expect(migrate(bouncer.through(url), folder)).rejects.toThrow('not to a connection pooler')
    expect(await migrate(url, folder)).not.toEqual([])
  })
})

it('a command that needs a session of its own is refused through it', async () => {
  const { url } = await emptyDatabase()
  await expect(openSession(bouncer.through(url))).rejects.toThrow('names a connection pooler')
})

describe('the service', () => {
  let service: TestService
  beforeAll(async () => {
    const database = await createTestDatabase()
    // Not the settings of the service: those that PgBouncer sets count.
    await database.query(
      "alter database :name set timezone = 'Asia/Tokyo'".replace(':name', new URL(database.url).pathname.slice(1)),
    )
    service = await startTestService({ DATABASE_URL: bouncer.through(database.url) })
    const { stop } = service
    Object.assign(service, { stop: () => stop().then(() => database.drop()) })
  })
  afterAll(() => service?.stop())

  async function deviceFlow(variant: 'oauth' | 'key') {
    const device = service.device(variant)
    const code = await device.code()
    expect((await device.poll(code.device_code)).body.error).toBe('auth_pending')
    expect(await service.grant(code.user_code)).toBe('granted')
    let answer = await device.poll(code.device_code)
    // PgBouncer may have made it wait too long.
    for (; answer.status !== 200; await sleep(200)) {
      expect(answer.body.error).toMatch(/^(auth_pending|slow_down)$/)
      answer = await device.poll(code.device_code)
    }
    expect((await device.poll(code.device_code)).body.error).toBe('invalid')
    return answer.body
  }

  it('delivers device codes of both variants, many at once, over three connections', async () => {
    const flows = Array.from({ length: 12 }, (_, index) => deviceFlow(index % 2 === 0 ? 'oauth' : 'key'))
    const credentials = (await Promise.all(flows)).map((body) => body.access_token ?? body.access_key)
    expect(new Set(credentials).size).toBe(12)
    for (const each of credentials) expect((await askMe(service, each)).status).toBe(200)
  })

  it('exchanges the code of a dialog, and refreshes', async () => {
    const application = await makeDialogApplication(service)
    const { body } = await exchange(service, application, await allow(service, { application }))
    const { status, body: next } = await refresh(service, application, body.refresh_token)
    expect(status).toBe(200)
    expect((await askMe(service, next.access_token)).status).toBe(200)
  })

  it('runs every background task', async () => {
    const { context, config } = service
    await sweep(context.db, config)
    await judgeApplications(context)
    await countDays(context)
    await recordRefusals(context.db)
    await eraseClosedAccounts(context.db)
    await createSealer(context).run()
    await sleep(3_000)
    expect(context.tasks.list().filter(({ failure }) => failure !== null)).toEqual([])
  })

  it('has the settings of the service, whatever those of the database are', async () => {
    const shown = ['timezone', 'jit', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
    const { rows } = await service.context.db.query(
      `select ${shown.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`,
    )
    expect(rows).toEqual([
      {
        timezone: 'UTC',
        jit: 'off',
        statement_timeout: '2s',
        lock_timeout: '1500ms',
        idle_in_transaction_session_timeout: '10s',
      },
    ])
  })
})

describe('a pooler that does not fit', () => {
  const mistakes = [
    {
      mistake: 'refuses what the service sends when it connects',
      change: (text: string) => text.replace(/^ignore_startup_parameters.*$/m, ''),
      named: 'unsupported startup parameter',
    },
    {
      mistake: 'sets no timeouts',
      change: (text: string) => text.replace(/ connect_query='.*'$/m, ''),
      // And jit, unless the engine has it off for everybody.
      named: 'statement_timeout, lock_timeout, idle_in_transaction_session_timeout, as connect_query',
    },
  ]

  it.each(mistakes)('one that $mistake: doctor and serve say so', async ({ change, named }) => {
    const wrong = await startPgBouncer(POOL_SIZE, change)
    onTestFinished(() => wrong.remove())
    const database = await createTestDatabase()
    onTestFinished(() => database.drop())
    const url = wrong.through(database.url)
    const db = openPostgres(url, 2)
    expect(await examinePostgres(db)).toMatchObject({
      severity: 'broken',
      what: expect.stringContaining(named),
      remedy: expect.stringContaining('deploy/pgbouncer/pgbouncer.ini'),
    })
    await db.close()
    await expect(startServerProcess({ DATABASE_URL: url })).rejects.toThrow(named)
  })
})
