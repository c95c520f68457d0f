/** The table of statement kinds is what PostgreSQL does: each kind is run, and its locks are read from pg_locks. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ALTER_TABLE_ACTIONS } from '../../src/store/postgres/alter-table-actions.ts'
import { classifyStatement, STATEMENT_KINDS } from '../../src/store/postgres/statement-kinds.ts'
import type { TableLock } from '../../src/store/postgres/table-locks.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../rig/engines/database.ts'

const SCHEMA = `
  create table owners (id int constraint owners_pkey primary key);
  create table visits (
    id int constraint visits_pkey primary key,
    page text,
    owner int constraint visits_owner_fkey references owners,
    other int,
    day int not null default 1
  );
  create index visits_page_idx on visits (page);
  create unique index visits_unique_idx on visits (id, page);
  alter table visits add constraint visits_page_present check (page is not null) not valid;
  create function note_visit() returns trigger language plpgsql as $$ begin return new; end $$;
  create trigger visits_noted after insert on visits for each row execute function note_visit();
  create table audit_events (at int) partition by range (at);
  create table audit_seals (at int) partition by range (at);
  create function make_audit_partitions(month int) returns void language plpgsql as $$
  begin
    execute format('create table audit_events_%s (like audit_events)', month);
    execute format('alter table audit_events attach partition audit_events_%s for values from (%s) to (%s)', month, month, month + 1);
    execute format('create table audit_seals_%s (like audit_seals)', month);
    execute format('alter table audit_seals attach partition audit_seals_%s for values from (%s) to (%s)', month, month, month + 1);
  end $$;
  insert into owners values (1);
  insert into visits select n, md5(n::text), 1, 1 from generate_series(1, 500) n;
`

/** An example of every kind. */
const INSIDE = [
  'create table pages (id int, owner int references owners, visit int references visits (id))',
  'create index visits_other_idx on visits (other)',
  'drop index visits_page_idx',
  'drop table visits',
  'create trigger visits_seen before update on visits for each row execute function note_visit()',
  'drop trigger visits_noted on visits',
  'create function one() returns int language sql as $$ select 1 $$',
  'drop function if exists one',
  'create sequence numbers',
  'revoke execute on function note_visit() from public',
  "insert into visits (id, page) values (0, '')",
  'update visits set other = 2 where id = 1',
  'delete from visits where id = 1',
  "select set_config('search_path', 'public', true)",
  'select make_audit_partitions(1)',
  'alter table visits add column number text unique',
  'alter table visits add column twice int generated always as (id * 2) stored',
  "alter table visits add column kind text check (kind <> '')",
  'alter table visits add column author int references owners',
  "alter table visits add column kind text not null default 'page'",
  'alter table visits add column seen_at timestamptz default now()',
  'alter table visits add column token uuid default gen_random_uuid()',
  'alter table visits add column kinds text[]',
  'alter table visits add constraint visits_other_fkey foreign key (other) references owners not valid',
  'alter table visits add constraint visits_other_fkey foreign key (other) references owners',
  'alter table visits add constraint visits_day_check check (day > 0) not valid',
  'alter table visits add constraint visits_day_check check (day > 0)',
  'alter table visits add constraint visits_unique unique using index visits_unique_idx',
  'alter table visits add constraint visits_id_other_key unique (id, other)',
  'alter table visits validate constraint visits_page_present',
  'alter table visits drop constraint visits_page_present',
  'alter table visits drop constraint visits_owner_fkey',
  'alter table visits alter column page set not null',
  'alter table visits alter column day drop not null',
  'alter table visits alter column day set default 2',
  'alter table visits alter column day type bigint',
  'alter table visits alter column owner type bigint',
  'alter table visits drop column other',
  'alter table visits drop column owner',
  'alter table visits rename column other to another',
  'alter table visits set (fillfactor = 80)',
  'alter table visits add column kind text, alter column day type bigint',
]

const OUTSIDE = [
  'create index concurrently visits_other_idx on visits (other)',
  'drop index concurrently visits_page_idx',
]

/** Fails on a table with rows, so there is nothing to compare. */
const FAILS = 'alter table visits add column kind text not null'

let database: EmptyDatabase
const clients: pg.Client[] = []

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url })
  client.on('error', () => {})
  clients.push(client)
  await client.connect()
  return client
}

beforeAll(async () => {
  database = await createEmptyDatabase()
  await (await connect()).query(SCHEMA)
})
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()))
  await database.drop()
})

const classified = (sql: string) => {
  const statement = classifyStatement(sql)
  if (!statement) throw new Error(`of no known kind: ${sql}`)
  return statement
}

/** As the plan resolves them; the schema above has one index and one foreign key that are named so. */
function tableOf(lock: TableLock): string | null {
  if ('table' in lock) return lock.table
  if ('ofIndex' in lock) return 'visits'
  if ('foreignKeysOf' in lock) return { owner: 'owners', id: 'visits' }[lock.column] ?? null
  return lock.constraint === 'visits_page_present' ? null : 'owners'
}

const expectedLocks = (sql: string) =>
  classified(sql)
    .locks.flatMap((lock) => tableOf(lock) ?? [])
    .map((table, at) => `${classified(sql).locks[at]?.mode} on ${table}`)
    .sort()

/** Table locks that make somebody wait, of tables that were there before: the strongest of each. */
async function locksOf(client: pg.Client, pid: number): Promise<string[]> {
  const { rows } = await client.query<{ lock: string }>(
    `select (array_agg(mode order by array_position($2, mode) desc))[1] || ' on ' || relname as lock
     from (
       select c.relname, upper(trim(regexp_replace(replace(l.mode, 'Lock', ''), '([A-Z])', ' \\1', 'g'))) as mode
       from pg_locks l join pg_class c on c.oid = l.relation
       where l.pid = $1 and l.granted and c.relname in ('owners', 'visits', 'audit_events', 'audit_seals')
     ) held where mode = any($2) group by relname order by 1`,
    [pid, ['ROW EXCLUSIVE', 'SHARE UPDATE EXCLUSIVE', 'SHARE', 'SHARE ROW EXCLUSIVE', 'EXCLUSIVE', 'ACCESS EXCLUSIVE']],
  )
  return rows.map(({ lock }) => lock)
}

const pidOf = async (client: pg.Client) =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0

/** What was done to `visits`: its file is another one, or it was read from end to end. */
async function workOn(client: pg.Client, before: number): Promise<'rewrites' | 'reads' | 'catalogue'> {
  const { rows } = await client.query<{ file: number; scans: number }>(
    `select pg_relation_filenode(c.oid)::int as file, (select sum(seq_scan)::int from pg_stat_xact_user_tables where relname = 'visits') as scans
     from pg_class c where relname = 'visits'`,
  )
  if (rows[0] && rows[0].file !== before) return 'rewrites'
  return (rows[0]?.scans ?? 0) > 0 ? 'reads' : 'catalogue'
}

describe('a statement in a transaction takes the locks of its kind, and reads or rewrites the table as its kind says', () => {
  it.each(INSIDE)('%s', async (sql) => {
    const [client, watcher] = [await connect(), await connect()]
    const pid = await pidOf(client)
    const file = (await client.query("select pg_relation_filenode('visits')::int as file")).rows[0]?.file
    await client.query('begin')
    try {
      await client.query(sql)
      expect(await locksOf(watcher, pid)).toEqual(expectedLocks(sql))
      const { work } = classified(sql)
      if (work !== 'rows' && !sql.startsWith('drop table')) expect(await workOn(client, file)).toBe(work)
    } finally {
      await client.query('rollback')
    }
  })
})

describe('a statement outside a transaction takes the locks of its kind, and waits for nobody who waits for it', () => {
  it.each(OUTSIDE)('%s', async (sql) => {
    const [reader, builder, watcher] = [await connect(), await connect(), await connect()]
    const pid = await pidOf(builder)
    expect(classified(sql).outside).toBe(true)
    await builder.query('begin')
    await expect(builder.query(sql)).rejects.toThrow('cannot run inside a transaction block')
    await builder.query('rollback')

    await reader.query('begin')
    await reader.query('update visits set other = 3 where id = 2')
    const built = builder.query(sql)
    let locks: string[] = []
    while (locks.length === 0) locks = await locksOf(watcher, pid)
    expect(locks).toEqual(expectedLocks(sql))
    await watcher.query("set lock_timeout = '1s'")
    await watcher.query('update visits set other = 4 where id = 3')
    await reader.query('commit')
    await built
  })
})

it('set not null reads the table, unless a validated check proves it', async () => {
  const client = await connect()
  const file = (await client.query("select pg_relation_filenode('visits')::int as file")).rows[0]?.file
  // In a session of its own: PostgreSQL counts reads per session.
  await (await connect()).query('alter table visits validate constraint visits_page_present')
  await client.query('begin')
  await client.query('alter table visits alter column page set not null')
  expect(await workOn(client, file)).toBe('catalogue')
  await client.query('rollback')
})

it('changing the type of a column also locks the tables that refer to it', async () => {
  const [client, watcher] = [await connect(), await connect()]
  const sql = 'alter table owners alter column id type bigint'
  await client.query('begin')
  await client.query(sql)
  const locks = await locksOf(watcher, await pidOf(client))
  await client.query('rollback')
  expect(locks).toEqual(['ACCESS EXCLUSIVE on owners', 'ACCESS EXCLUSIVE on visits'])
  expect(locks).toEqual(expectedLocks(sql))
})

it('a column that is not null and has no default cannot be added to a table with rows', async () => {
  await expect((await connect()).query(FAILS)).rejects.toThrow('contains null values')
})

it('every kind has an example here', () => {
  const shown = new Set([...INSIDE, ...OUTSIDE, FAILS].flatMap((sql) => classified(sql).kinds))
  const kinds = [...STATEMENT_KINDS, ...ALTER_TABLE_ACTIONS].map(({ kind }) => kind)
  expect(kinds.filter((kind) => !shown.has(kind))).toEqual([])
})

describe('what is of no known kind is not classified', () => {
  it.each([
    "do $$ begin execute 'drop table visits'; end $$",
    'vacuum full visits',
    'cluster visits',
    'truncate visits',
    'alter table visits add column kind text, disable trigger all',
    'alter table visits set tablespace elsewhere',
    'create table pages (id int) inherits (visits)',
    'create table visits_1 partition of visits default',
    'lock table visits',
    'reindex table visits',
    'select pg_sleep(1)',
  ])('%s', (sql) => {
    expect(classifyStatement(sql)).toBeNull()
  })
})
