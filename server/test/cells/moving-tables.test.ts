/** Every table is said to move with a bucket or to stay, and what a moving row refers to is there before it. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { HANDED_CODES, LEFT_DIALOGS, MOVING, STAYING } from '../../src/store/cells/moving-tables.ts'

const schema = readFileSync(new URL('../../schema.sql', import.meta.url), 'utf8')
const moving = MOVING.map(({ name }) => name)
const staying: readonly string[] = Object.values(STAYING).flat()

test('every table of the schema moves or stays', () => {
  const tables = [...schema.matchAll(/^CREATE TABLE public\.(\w+)/gm)].map(([, name]) => name)
  expect([...moving, ...staying, HANDED_CODES.name, LEFT_DIALOGS.name].toSorted()).toEqual(tables.toSorted())
})

test('a row that moves refers to rows that move before it, or to global ones', () => {
  const global = new Set<string>(STAYING['the map and what is replicated from the home cell'])
  const references = schema.matchAll(
    /ONLY public\.(\w+)\s+ADD CONSTRAINT \w+ FOREIGN KEY \((\w+)\) REFERENCES public\.(\w+)/g,
  )
  let seen = 0
  for (const [, table = '', column = '', referenced = ''] of references) {
    const at = moving.indexOf(table)
    if (at === -1) continue
    seen += 1
    // Not a foreign key outside the home cell (`dropKeysToHome`).
    if (column === 'revoked_by_decision') continue
    const known = global.has(referenced) || moving.slice(0, at).includes(referenced)
    expect(known, `${table}.${column} refers to ${referenced}`).toBe(true)
  }
  expect(seen).toBeGreaterThan(20)
})

test('no table that stays has rows of an account, except those of publishers and what happened in the cell', () => {
  const own = new Set<string>([
    ...STAYING['of publishers and operators, whose accounts do not move'],
    ...STAYING['what happened in this cell'],
    // Of publishers, and a feed that is deleted after an hour.
    'applications',
    'grant_changes',
  ])
  for (const name of staying) {
    const columns =
      new RegExp(`CREATE TABLE public\\.${name} \\(([^;]*?)\\)\\n?(PARTITION|WITH|;)`).exec(schema)?.[1] ?? ''
    if (!own.has(name)) expect(columns, name).not.toMatch(/^ +(account|user|grant)_id /m)
  }
})
