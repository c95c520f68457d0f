/** .squawk.toml: a new migration makes no request wait and removes nothing in use. Each statement is judged by squawk itself. */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')

/** The package of one platform: CI runs there. */
const SQUAWK = join(ROOT, 'node_modules', '@squawk-cli', 'linux-x64', 'bin', 'squawk')
const isInstalled = existsSync(SQUAWK)

function brokenRules(sql: string): readonly string[] {
  const { stdout } = spawnSync(SQUAWK, ['--reporter', 'json'], {
    cwd: ROOT,
    input: sql,
    encoding: 'utf8',
  })
  return JSON.parse(stdout).map(({ rule_name }: { rule_name: string }) => rule_name)
}

const OUTSIDE = '-- latchkey: no-transaction\n-- squawk-disable-assume-in-transaction\n'

describe.runIf(isInstalled)('a new migration is refused if it contains', () => {
  it.each([
    ['a dropped column', 'alter table grants drop column scopes', 'ban-drop-column'],
    ['a dropped table', 'drop table links', 'ban-drop-table'],
    ['a renamed column', 'alter table grants rename column scopes to permissions', 'renaming-column'],
    ['a renamed table', 'alter table grants rename to connections', 'renaming-table'],
    ['another type', 'alter table grants alter column generation type bigint', 'changing-column-type'],
    [
      'a required column without a default',
      'alter table grants add column flow text not null',
      'adding-required-field',
    ],
    ['set not null', 'alter table grants alter column issued_at set not null', 'adding-not-nullable-field'],
    [
      'a check that is validated at once',
      'alter table grants add constraint c check (generation > 0)',
      'constraint-missing-not-valid',
    ],
    [
      'a foreign key that is validated at once',
      'alter table grants add constraint f foreign key (id) references users',
      'adding-foreign-key-constraint',
    ],
    [
      'a default that is computed for each row',
      'alter table grants add column token uuid default gen_random_uuid()',
      'adding-field-with-default',
    ],
    [
      'an index that blocks writers',
      'create index grants_generation_idx on grants (generation)',
      'require-concurrent-index-creation',
    ],
    [
      'a concurrent index in a transaction',
      'drop index concurrently if exists i; create index concurrently i on grants (generation)',
      'ban-concurrent-index-creation-in-transaction',
    ],
    [
      'what cannot be repeated, outside a transaction',
      `${OUTSIDE}alter table grants add column flow text`,
      'prefer-robust-stmts',
    ],
  ])('%s', (_what, sql, rule) => {
    expect(brokenRules(`${sql};\n`)).toContain(rule)
  })
})

describe.runIf(isInstalled)('a new migration may contain', () => {
  it.each([
    ['a nullable column', 'alter table grants add column flow text'],
    ['a column with a constant default', "alter table grants add column flow text not null default 'device'"],
    ['a constraint that is not validated yet', 'alter table grants add constraint c check (generation > 0) not valid'],
    ['a validation in a file of its own', 'alter table grants validate constraint c'],
    ['a new table with indexes', 'create table t (id text references grants); create index t_id_idx on t (id)'],
    [
      'rows in batches',
      '-- latchkey: batches of grants by id\nupdate grants set generation = 1 where id between $1 and $2',
    ],
  ])('%s', (_what, sql) => {
    expect(brokenRules(`${sql};\n`)).toEqual([])
  })
})

it.runIf(isInstalled).each(globSync('server/**/migrations/*.sql', { cwd: ROOT, exclude: ['**/dist/**'] }))(
  '%s breaks no rule',
  (file) => {
    expect(brokenRules(readFileSync(join(ROOT, file), 'utf8'))).toEqual([])
  },
)
