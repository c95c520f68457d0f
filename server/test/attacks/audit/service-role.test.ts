/** AD-07 and SC-08 for the role of deploy/postgresql/service-role.sql: sufficient for the service, and unable to change the audit log. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import { grantDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { sweep } from '../../../src/flows/sweep.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { openPostgres } from '../../../src/store/postgres/postgres.ts'
import { openLog } from '../../rig/audit.ts'
import { Device } from '../../rig/device.ts'
import { createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'
import { makeAccount, makeApplication, makeConfig, makeUser } from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'

const SCRIPT = new URL('../../../../deploy/postgresql/service-role.sql', import.meta.url)

/** Roles belong to the whole PostgreSQL, so each run has its own. */
const role = `service_${randomBytes(6).toString('hex')}`
const password = randomBytes(12).toString('hex')

let database: TestDatabase
let asService: pg.Client
let url: string
let server: ServerProcess
beforeAll(async () => {
  database = await createTestDatabase()
  const script = readFileSync(SCRIPT, 'utf8').replaceAll('latchkey_service', role)
  await database.query(script)
  await database.query(`alter role ${role} password '${password}'`)
  // The script can be repeated, for example after a migration.
  await database.query(script)
  url = Object.assign(new URL(database.url), { username: role, password }).toString()
  asService = new pg.Client({ connectionString: url })
  await asService.connect()
  server = await startServerProcess({ DATABASE_URL: url })
})
afterAll(async () => {
  await server.kill('SIGTERM')
  await asService.end()
  await database.query(`drop owned by ${role}`)
  await database.query(`drop role ${role}`)
  await database.drop()
})

describe('with this role the service', () => {
  it('owns nothing', async () => {
    const owned = await database.query(
      `select relname as name from pg_class where relowner = $1::regrole union all
       select proname from pg_proc where proowner = $1::regrole union all
       select nspname from pg_namespace where nspowner = $1::regrole`,
      [role],
    )
    expect(owned).toEqual([])
  })

  it('starts, issues a code, saves the decision and delivers the credentials; all events are sealed', async () => {
    const config = makeConfig({ DATABASE_URL: url })
    const context = await createContext(config)
    const account = await makeAccount(context.db)
    const user = await makeUser(context.db, account.slug)
    const application = await makeApplication(context.db, config, account.slug)
    await context.applications.refresh()
    const device = new Device(server.address, application)
    // The server pulls new applications each second; on a busy machine, later.
    for (let looks = 0; (await device.request()).status !== 200 && looks < 20; looks += 1) await sleep(500)
    const code = await device.code()
    const entered = await enterUserCode(context, user.id, code.user_code)
    if (entered.outcome !== 'claimed') throw new Error(entered.outcome)
    expect((await grantDeviceCode(context, user.id, entered.code)).outcome).toBe('granted')
    await closeContext(context)
    let answer = await device.poll(code.device_code)
    for (let polls = 0; answer.status !== 200 && polls < 5; polls += 1) {
      await sleep(5_000)
      answer = await device.poll(code.device_code)
    }
    expect(answer.body).toMatchObject({ access_token: expect.stringMatching(/^lka_/) })

    const log = openLog(database, config.keys)
    let found = await log.verify()
    for (let looks = 0; found.young > 0 && looks < 100; looks += 1) {
      await sleep(200)
      found = await log.verify()
    }
    expect(found).toMatchObject({ problem: null, young: 0, waiting: 0 })
    expect(found.verified).toBeGreaterThanOrEqual(5)
    await log.close()
    expect(server.log()).not.toMatch(/task_failed|unexpected|permission denied/)
  })

  it('creates and drops partitions', async () => {
    const db = openPostgres(url, 2)
    await database.query("select make_device_code_partition('2026-01-02T03:00:00Z')")
    const { partitions } = await sweep(db, makeConfig({ DATABASE_URL: url }))
    expect(partitions).toEqual(['device_codes_2026010203'])
    await db.close()
  })

  it('cannot migrate, while the owner can', async () => {
    await expect(asService.query("insert into migrations values ('9999_mine.sql', now())")).rejects.toMatchObject({
      code: '42501',
    })
    await expect(asService.query('create table mine (id int)')).rejects.toMatchObject({ code: '42501' })
    expect(await migrate(database.url)).toEqual([])
  })
})

/** Partitions are named by the month in UTC. */
function thisMonth(parent: string): string {
  return `${parent}_${new Date().toISOString().slice(0, 7).replace('-', '')}`
}

describe('AD-07: with this role', () => {
  it.each([
    "update audit_events set kind = 'x'",
    'update audit_events set kind = kind where false',
    'delete from audit_events',
    'truncate audit_events',
    'update audit_seals set key_id = 2',
    'delete from audit_seals',
    'truncate audit_seals',
    'truncate audit_seals, audit_events',
    'select from audit_events for update',
    'drop trigger append_only on audit_events',
    'drop trigger append_only on audit_seals',
    'alter table audit_events disable trigger append_only',
    'alter table audit_events disable trigger all',
    'alter table audit_seals disable trigger user',
    'set session_replication_role = replica',
    'drop table audit_seals',
    'drop function refuse_audit_change() cascade',
    'create or replace function refuse_audit_change() returns trigger language plpgsql as $$ begin return null; end $$',
    'alter table audit_events rename to elsewhere',
    'alter table audit_events owner to current_user',
    "insert into audit_events (at, kind, actor_kind, actor_id, via, xid) values (now(), 'session.started', 'service', 'test', 'job', '3')",
    "insert into audit_events (id, at, kind, actor_kind, actor_id, via) values (-1, now(), 'session.started', 'service', 'test', 'job')",
    'create trigger mine before insert on audit_events for each row execute function refuse_audit_change()',
    'create rule quiet as on delete to audit_events do instead nothing',
    'alter sequence audit_event_ids restart',
    "select setval('audit_event_ids', 1)",
    "select drop_device_code_partition('audit_seals')",
    "select drop_device_code_partition('audit_events cascade')",
    `select from ${thisMonth('audit_events')}`,
    `insert into ${thisMonth('audit_events')} (id, at, kind, actor_kind, actor_id, via, xid) values (-1, now(), 'session.started', 'service', 'test', 'job', '3')`,
    `insert into ${thisMonth('audit_seals')} values (1, 1, now(), '3', 1, sha256(''))`,
    `delete from ${thisMonth('audit_events')}`,
    'alter table audit_events attach partition audit_events_190001 default',
    `alter table audit_events detach partition ${thisMonth('audit_events')}`,
    `drop table ${thisMonth('audit_seals')}`,
    "insert into audit_detachments values ('2026-01', '[]', 1, sha256(''))",
    'delete from audit_detachments',
    'truncate audit_detachments',
  ])('%s is refused', async (statement) => {
    const state = await asService.query(statement).then(
      () => 'done',
      (error) => error.code,
    )
    // 42501: insufficient privilege. 22023: no partition of device_codes, said by the function that has the privilege.
    expect(state).toBe(statement.includes('drop_device_code_partition') ? '22023' : '42501')
  })

  it('a table that shadows ours does not mislead the functions with the owner’s rights', async () => {
    await asService.query('create temporary table device_codes (expires_at timestamptz, status text)')
    await asService.query("select make_device_code_partition('2027-01-02T03:00:00Z')")
    const [parent] = await database.query(
      `select inhparent::regclass::text as name from pg_inherits where inhrelid = 'device_codes_2027010203'::regclass`,
    )
    expect(parent).toEqual({ name: 'device_codes' })
    await expect(asService.query("select make_device_code_partition('2027-01-02T03:30:00Z')")).rejects.toMatchObject({
      code: '22023',
    })
  })

  it('a partition for a new month can be created, but not changed', async () => {
    await asService.query('create temporary table audit_events (at timestamptz)')
    await asService.query("select make_audit_partitions('2031-05-01T00:00:00Z')")
    await asService.query('drop table pg_temp.audit_events')
    const parents = await database.query(
      `select inhparent::regclass::text as name from pg_inherits
       where inhrelid in ('audit_events_203105'::regclass, 'audit_seals_203105'::regclass) order by 1`,
    )
    expect(parents).toEqual([{ name: 'audit_events' }, { name: 'audit_seals' }])
    for (const statement of ['select from audit_events_203105', 'delete from audit_seals_203105']) {
      await expect(asService.query(statement)).rejects.toMatchObject({ code: '42501' })
    }
    await expect(asService.query("select make_audit_partitions('2031-05-02T00:00:00Z')")).rejects.toMatchObject({
      code: '22023',
    })
  })

  it('an event can be inserted, and nothing else', async () => {
    await asService.query(
      "insert into audit_events (at, kind, actor_kind, actor_id, via) values (now(), 'session.started', 'service', 'test', 'job')",
    )
    const rights = await database.query(
      `select table_name, privilege_type from information_schema.role_table_grants
       where grantee = $1 and (table_name like 'audit%' or table_name = 'migrations') order by 1, 2`,
      [role],
    )
    expect(rights).toEqual([
      { table_name: 'audit_detachments', privilege_type: 'SELECT' },
      { table_name: 'audit_events', privilege_type: 'SELECT' },
      { table_name: 'audit_seals', privilege_type: 'INSERT' },
      { table_name: 'audit_seals', privilege_type: 'SELECT' },
      { table_name: 'migrations', privilege_type: 'SELECT' },
    ])
  })

  it('an event that never happened is sealed like any other: decision 0021, "What the chain proves, and what it does not"', async () => {
    const [inserted] = (
      await asService.query<{ id: string }>(
        `insert into audit_events (at, kind, actor_kind, actor_id, via)
         values (now(), 'user.disabled', 'operator', 'usr_000000000000', 'web') returning id`,
      )
    ).rows
    const log = openLog(database, makeConfig({ DATABASE_URL: url }).keys)
    await log.seal()
    expect((await log.verify()).problem).toBeNull()
    await log.close()
    expect(await database.query('select from audit_seals where event_id = $1', [inserted?.id])).toHaveLength(1)
    const decision = new URL(
      '../../../../docs/decisions/0021-the-audit-log-is-sealed-after-the-fact.md',
      import.meta.url,
    )
    expect(readFileSync(decision, 'utf8')).toContain('## What the chain proves, and what it does not')
  })
})

describe('SC-08: with this role', () => {
  it.each([
    "copy scopes to program 'cat'",
    "copy scopes from program 'id'",
    "copy scopes from '/etc/passwd'",
    "select pg_read_file('/etc/passwd')",
    "select pg_ls_dir('/')",
    "select lo_import('/etc/passwd')",
    'select * from pg_authid',
    'select * from elsewhere.salaries',
    'create schema mine',
    'create function mine() returns int language sql as $$ select 1 $$',
    'create extension dblink',
    'create role mine superuser',
    'create database mine',
    `alter role ${role} superuser`,
    "alter system set log_statement = 'all'",
    'set role pg_execute_server_program',
    'set session authorization postgres',
    'alter table users add column mine int',
    'drop table users',
    'create index on users (email)',
    'create publication mine for all tables',
    "select pg_create_physical_replication_slot('mine')",
    'select pg_terminate_backend(pid) from pg_stat_activity where usename is distinct from current_user and usename is not null',
  ])('%s is refused', async (statement) => {
    await database.query('create schema if not exists elsewhere; create table if not exists elsewhere.salaries ()')
    // 42501: insufficient privilege. 42704: no such role. 22023: a parameter that may not be set so.
    await expect(asService.query(statement)).rejects.toMatchObject({
      code: expect.stringMatching(/^(42501|42704|22023)$/),
    })
  })
})
