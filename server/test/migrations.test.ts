/** Migrations: those of a release stay as they are, and a new one makes no request wait and removes nothing in use. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { migrationProblems } from '../../tools/migration-rules.ts'
import {
  digestMigration,
  MIGRATIONS_FOLDER,
  parseMigration,
  readMigrations,
} from '../src/store/postgres/migration-files.ts'
import { RELEASED_MIGRATIONS } from '../src/store/postgres/released-migrations.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const isReleased = (name: string) => name in RELEASED_MIGRATIONS

/** Of the seven entries of the first release. It never changes: later releases add entries behind them. */
const FIRST_RELEASE = 'c93b5befc4bf64770c2bd76fe4655a40e44d36c4c2cce4e1c9e7685318bc70eb'

test('the seven migrations of the first release are listed, and their entries are those of the release', () => {
  const first = Object.entries(RELEASED_MIGRATIONS).slice(0, 7)
  expect(createHash('sha256').update(JSON.stringify(first)).digest('hex')).toBe(FIRST_RELEASE)
})

test('every released migration is there, unchanged, and comes before all others', () => {
  const names = readdirSync(MIGRATIONS_FOLDER).sort()
  const released = Object.keys(RELEASED_MIGRATIONS)
  expect(names.slice(0, released.length)).toEqual(released)
  const digests = released.map((name) => [
    name,
    digestMigration(readFileSync(new URL(name, MIGRATIONS_FOLDER), 'utf8')),
  ])
  expect(Object.fromEntries(digests)).toEqual(RELEASED_MIGRATIONS)
})

test('no new migration makes requests wait or removes what a running version needs', async () => {
  expect(migrationProblems(await readMigrations(MIGRATIONS_FOLDER), isReleased, version)).toEqual([])
})

test('the later migrations of verify -- upgrade keep the rules, too', async () => {
  const later = await readMigrations(new URL('./upgrade/later-migrations/', import.meta.url))
  expect(migrationProblems(later, () => false, '0.2.0')).toEqual([])
})

const problems = (sql: string, current = '1.4.0') =>
  migrationProblems([parseMigration('0099_later.sql', sql)], () => false, current).join('\n')

describe('a new migration is refused if it contains', () => {
  it.each([
    ['a dropped column', 'alter table grants drop column scopes', 'contract migration only'],
    ['a dropped table', 'drop table links', 'contract migration only'],
    ['a renamed column', 'alter table grants rename column scopes to permissions', 'contract migration only'],
    ['a renamed table', 'alter table grants rename to connections', 'contract migration only'],
    ['another type', 'alter table grants alter column generation type bigint', 'contract migration only'],
    [
      'a required column without a default',
      'alter table grants add column origin text not null',
      'contract migration only',
    ],
    [
      'set not null without a validated check',
      'alter table grants alter column issued_at set not null',
      'requests wait for',
    ],
    [
      'a check that is validated at once',
      'alter table grants add constraint c check (generation > 0)',
      'requests wait for',
    ],
    [
      'a foreign key that is validated at once',
      'alter table grants add constraint f foreign key (id) references users',
      'requests wait for',
    ],
    [
      'a default that is computed for each row',
      'alter table grants add column token uuid default gen_random_uuid()',
      'requests wait for',
    ],
    ['an index that blocks writers', 'create index grants_generation_idx on grants (generation)', 'requests wait for'],
    ['a concurrent index in a transaction', 'create index concurrently i on grants (generation)', 'no-transaction'],
    [
      'a table lock outside a transaction',
      '-- latchkey: no-transaction\nalter table grants add column origin text',
      'in a transaction',
    ],
    ['an update of all rows at once', 'update grants set generation = 1', 'in batches'],
  ])('%s', (_what, sql, problem) => {
    expect(problems(sql)).toContain(problem)
  })

  it('a statement of an unknown kind', () => {
    expect(() => problems('vacuum full grants')).toThrow('0099_later.sql has a statement of an unknown kind')
  })

  it('an unknown directive', () => {
    expect(() => problems('-- latchkey: contract\ndrop table links')).toThrow('unknown directive: contract')
  })
})

describe('a new migration may contain', () => {
  it.each([
    ['a nullable column', 'alter table grants add column origin text'],
    ['a column with a constant default', "alter table grants add column origin text not null default 'device'"],
    ['a constraint that is not validated yet', 'alter table grants add constraint c check (generation > 0) not valid'],
    ['a validation', '-- latchkey: no-transaction\nalter table grants validate constraint c'],
    ['a concurrent index', '-- latchkey: no-transaction\ncreate index concurrently i on grants (generation)'],
    ['a new table with indexes', 'create table t (id text references grants); create index t_id_idx on t (id)'],
    [
      'rows in batches',
      '-- latchkey: batches of grants by id\nupdate grants set generation = 1 where id between $1 and $2',
    ],
  ])('%s', (_what, sql) => {
    expect(problems(sql)).toBe('')
  })
})

describe('a contract migration', () => {
  const contract = (expanded: string) =>
    `-- latchkey: contract, expanded in ${expanded}\nalter table grants drop column noted`

  it('comes two minor versions after the version that expanded', () => {
    expect(problems(contract('1.3.0'), '1.4.2')).toBe('')
    expect(problems(contract('1.4.0'), '1.4.2')).toContain('the earliest version for that is 1.6.0')
    expect(problems(contract('0.9.0'), '1.0.0')).toBe('')
    expect(problems(contract('2.0.0'), '1.4.0')).toContain('the earliest version for that is 2.2.0')
  })

  it('removes something', () => {
    expect(problems('-- latchkey: contract, expanded in 1.0.0\nalter table grants add column origin text')).toContain(
      'removes nothing',
    )
  })
})
