/** Migrations of busy tables: no request waits for them, and they can be interrupted. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { migrate } from '../../src/store/postgres/migrate.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../rig/engines/database.ts'

const FOLDER = new URL('./online-migrations/', import.meta.url)
const [TABLE, INDEX] = ['0001_visits.sql', '0002_visits_by_page.sql']

let database: EmptyDatabase
const clients: pg.Client[] = []

const connect = async () => {
  const client = new pg.Client({ connectionString: database.url })
  client.on('error', () => {})
  clients.push(client)
  await client.connect()
  return client
}

const only = async <T>(client: pg.Client, sql: string): Promise<T> =>
  (await client.query({ text: sql, rowMode: 'array' })).rows[0]?.[0]

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** A transaction that has read and written: an index cannot be completed before it ends. */
async function beginWriting(): Promise<pg.Client> {
  const writer = await connect()
  await until(async () => (await only<string | null>(writer, "select to_regclass('visits')")) !== null)
  await writer.query('begin')
  await writer.query("insert into visits (page) values ('under way')")
  return writer
}

const builders = (client: pg.Client) => only<number>(client, 'select count(*)::int from pg_stat_progress_create_index')
const indexIsValid = (client: pg.Client) =>
  only<boolean>(client, "select indisvalid from pg_index where indexrelid = to_regclass('visits_page_idx')")
const sessions = (client: pg.Client) =>
  only<number>(
    client,
    "select count(*)::int from pg_stat_activity where datname = current_database() and backend_type = 'client backend'",
  )
const applied = async (client: pg.Client) =>
  (await client.query<{ name: string }>('select name from migrations order by name')).rows.map(({ name }) => name)

beforeEach(async () => {
  database = await createEmptyDatabase()
})
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()))
  await database.drop()
})

it('an index is built while rows are written, and no write waits for it', async () => {
  const running = migrate(database.url, FOLDER)
  const writer = await beginWriting()
  const other = await connect()
  await until(async () => (await builders(other)) > 0)
  await other.query("set lock_timeout = '500ms'")

  let over = false
  const ended = running.finally(() => {
    over = true
  })
  const write = () => other.query("insert into visits (page) values ('meanwhile')")
  for (let n = 0; n < 50; n += 1) await write()
  expect(over).toBe(false)
  await writer.query('commit')
  while (!over) await write()

  expect(await ended).toEqual([TABLE, INDEX])
  expect(await indexIsValid(other)).toBe(true)
  expect(await only(other, "select count(*)::int from visits where page = 'a;b'")).toBe(1)
})

it('of two runners at the same moment, one waits without blocking the other’s index', async () => {
  const first = migrate(database.url, FOLDER)
  const writer = await beginWriting()
  const other = await connect()
  await until(async () => (await builders(other)) > 0)
  const second = migrate(database.url, FOLDER)
  await until(async () => (await sessions(other)) === 4)
  await writer.query('commit')

  expect(await first).toEqual([TABLE, INDEX])
  expect(await second).toEqual([])
})

it('an interrupted file is run from its beginning by the next runner', async () => {
  const killed = runInAnotherProcess()
  const writer = await beginWriting()
  const other = await connect()
  await until(async () => (await builders(other)) > 0)
  killed.kill('SIGKILL')
  await once(killed, 'exit')

  // Its session lives until the index is complete or the session is terminated, and the next run waits for that.
  const next = migrate(database.url, FOLDER)
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(await builders(other)).toBe(1)
  await other.query('select pg_terminate_backend(pid) from pg_stat_progress_create_index')
  await until(async () => (await builders(other)) === 0)
  expect(await indexIsValid(other)).toBe(false)
  expect(await applied(other)).toEqual([TABLE])
  await writer.query('commit')

  expect(await next).toEqual([INDEX])
  expect(await indexIsValid(other)).toBe(true)
  expect(await applied(other)).toEqual([TABLE, INDEX])
})

function runInAnotherProcess() {
  const module = new URL('../../src/store/postgres/migrate.ts', import.meta.url)
  const script = `const { migrate } = await import(${JSON.stringify(module.href)})
    await migrate(process.argv[1], new URL(process.argv[2]))`
  return spawn(process.execPath, ['--input-type=module', '-e', script, database.url, FOLDER.href], { stdio: 'ignore' })
}

it('a statement that fails names its migration, and the file is not recorded as applied', async () => {
  const other = await connect()
  await other.query('create table visits (id bigint, page text)')
  await other.query('create table migrations (name text primary key, applied_at timestamptz not null)')
  await other.query('insert into migrations values ($1, now())', [TABLE])
  await other.query('create view visits_page_idx as select 1')
  await expect(migrate(database.url, FOLDER)).rejects.toThrow(
    /^migration 0002_visits_by_page\.sql failed: .*is not an index/,
  )
  expect(await applied(other)).toEqual([TABLE])
})

describe('a table that is in use', () => {
  const later = (name: string, sql: string) => {
    const folder = mkdtempSync(join(tmpdir(), 'migrations-'))
    onTestFinished(() => removeFolder(folder))
    writeFileSync(join(folder, name), sql)
    return pathToFileURL(`${folder}/`)
  }

  it('F34: a migration that waits for a table lock lets requests pass, and gets it when the table is free', async () => {
    await migrate(database.url, FOLDER)
    const writer = await beginWriting()
    const other = await connect()
    await other.query("set lock_timeout = '500ms'")
    const running = migrate(
      database.url,
      later('0003_visited_at.sql', 'alter table visits add column visited_at timestamptz'),
    )
    const begun = performance.now()
    while (performance.now() - begun < 2_000) await other.query('select from visits where id = 1')
    expect(await applied(other)).toEqual([TABLE, INDEX])
    await writer.query('commit')
    expect(await running).toEqual(['0003_visited_at.sql'])
    expect(await only(other, 'select count(visited_at)::int from visits')).toBe(0)
  })

  it('F34: rows are filled in batches while they are written, all of them, and none twice', async () => {
    await migrate(database.url, FOLDER)
    const writer = await connect()
    await writer.query('alter table visits add column hits int')
    await writer.query('begin')
    await writer.query("update visits set page = 'being written' where id = 700")
    const other = await connect()
    const filled = () => only<number>(other, 'select count(hits)::int from visits')
    const statement = 'update visits set hits = coalesce(hits, 0) + 1 where id between $1 and $2'
    const running = migrate(database.url, later('0003_hits.sql', `-- latchkey: batches of visits by id\n${statement}`))
    await until(async () => (await filled()) >= 500)
    await new Promise((resolve) => setTimeout(resolve, 300))
    // The batch with the locked row lets everybody else pass, and is tried again.
    expect(await filled()).toBe(500)
    await other.query("set lock_timeout = '1s'")
    await other.query("update visits set page = 'meanwhile' where id = 701")
    await writer.query('commit')
    expect(await running).toEqual(['0003_hits.sql'])
    expect(await only(other, 'select count(*)::int from visits where hits is distinct from 1')).toBe(0)
  })
})
