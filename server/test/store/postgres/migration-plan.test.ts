/** `latchkey migrate --plan`: every pending statement with its locks and the size of its tables, and nothing is changed. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { wordsOfPlan } from '../../../src/cli/migration-plan.ts'
import { planMigrations } from '../../../src/store/postgres/migration-plan.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'

const LATER = new URL('../../upgrade/later-migrations/', import.meta.url)

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  await database.query('analyze grants')
})
afterAll(() => database.drop())

it('names each pending statement, its table locks, whom they block, the size of the table and what the statement does', async () => {
  const size = '(about 0 rows, 0.0 MB)'
  expect(wordsOfPlan(await planMigrations(database.url, LATER)).split('\n')).toEqual([
    '9001_grant_origin.sql, in one transaction',
    '  alter table grants add column origin text, add column noted_origin text',
    `    ACCESS EXCLUSIVE on grants ${size}: blocks readers and writers while it runs; changes the catalogue only`,
    expect.stringContaining('  create function set_grant_origin() returns trigger'),
    '    no table lock; changes the catalogue only',
    expect.stringContaining('  create trigger grants_origin before insert on grants'),
    `    SHARE ROW EXCLUSIVE on grants ${size}: blocks writers while it runs; changes the catalogue only`,
    expect.stringContaining('  create table grant_notes ('),
    `    SHARE ROW EXCLUSIVE on grants ${size}: blocks writers while it runs; changes the catalogue only`,
    '9002_grant_origin_of_old_rows.sql, outside a transaction, in batches of rows',
    expect.stringContaining('  update grants set origin ='),
    `    ROW EXCLUSIVE on grants ${size}: blocks nobody; writes rows`,
    '9003_grant_origin_index.sql, outside a transaction, statement by statement',
    '  drop index concurrently if exists grants_application_id_origin_idx',
    '    no table lock; changes the catalogue only',
    '  create index concurrently grants_application_id_origin_idx on grants (application_id, origin)',
    `    SHARE UPDATE EXCLUSIVE on grants ${size}: blocks nobody; reads the whole table`,
    '9004_grant_origin_check.sql, in one transaction',
    '  alter table grants add constraint grants_origin_present check (origin is not null) not valid',
    `    ACCESS EXCLUSIVE on grants ${size}: blocks readers and writers while it runs; changes the catalogue only`,
    '9005_grant_origin_valid.sql, outside a transaction, statement by statement',
    '  alter table grants validate constraint grants_origin_present',
    `    SHARE UPDATE EXCLUSIVE on grants ${size}: blocks nobody; reads the whole table`,
    '9006_grant_origin_not_null.sql, in one transaction',
    '  alter table grants alter column origin set not null',
    `    ACCESS EXCLUSIVE on grants ${size}: blocks readers and writers while it runs; changes the catalogue only`,
    '  alter table grants drop constraint grants_origin_present',
    `    ACCESS EXCLUSIVE on grants ${size}: blocks readers and writers while it runs; changes the catalogue only`,
    '9007_drop_noted_origin.sql, in one transaction',
    '  alter table grants drop column noted_origin',
    `    ACCESS EXCLUSIVE on grants ${size}: blocks readers and writers while it runs; changes the catalogue only`,
  ])
  expect(await database.query("select from migrations where name like '9%'")).toEqual([])
})

it('an up-to-date database has nothing to do, and an empty one gets everything', async () => {
  expect(await planMigrations(database.url)).toEqual([])
  expect(wordsOfPlan([])).toBe('Nothing to do: the database is up to date.')
  const empty = await createEmptyDatabase()
  onTestFinished(empty.drop)
  const plan = await planMigrations(empty.url)
  expect(plan[0]?.name).toBe('0001_accounts.sql')
  expect(wordsOfPlan(plan)).toContain('SHARE ROW EXCLUSIVE on accounts (new)')
})

it('names the tables that only the catalogue knows: of an index, and of a foreign key', async () => {
  const statements = [
    'drop index grants_live_tests_idx',
    'alter table links drop constraint links_grant_id_fkey',
    'alter table links drop column grant_id',
    'alter table links drop column created_at',
    'alter table grants alter column id type text',
  ]
  const planned = (await planMigrations(database.url, folderWith(statements.join(';\n'))))[0]?.statements
  const locks = planned?.map((statement) => statement.locks.map(({ table, mode }) => `${mode} on ${table}`))
  const both = ['ACCESS EXCLUSIVE on links', 'ACCESS EXCLUSIVE on grants']
  expect(locks).toEqual([['ACCESS EXCLUSIVE on grants'], both, both, ['ACCESS EXCLUSIVE on links'], both.toReversed()])
})

it('refuses to plan a statement of an unknown kind, and names it', async () => {
  await expect(planMigrations(database.url, folderWith('cluster grants using grants_pkey'))).rejects.toThrow(
    '0099_later.sql has a statement of an unknown kind: cluster grants using grants_pkey',
  )
})

function folderWith(sql: string): URL {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'))
  onTestFinished(() => removeFolder(folder))
  writeFileSync(join(folder, '0099_later.sql'), sql)
  return pathToFileURL(`${folder}/`)
}
