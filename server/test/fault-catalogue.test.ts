/** docs/reliability.md: each fault has a test or a command that names its id, and each that names an id is in the table. */
import { expect, test } from 'vitest'
import { commandsByFault, FORMS, filesByFault, IDS, readTable } from './faults/catalogue.ts'

const table = readTable()
const files = filesByFault()
const commands = commandsByFault()

test('every fault has a row, in order', () => {
  expect(table.map(({ id }) => id)).toEqual(IDS)
})

test('every row has a test whose title begins with its id, or a command whose source names it', () => {
  expect(table.filter((row) => row.files.length + row.commands.length === 0)).toEqual([])
})

test('no test or command names a fault without a row', () => {
  const named = [...new Set([...files.keys(), ...commands.keys()])].sort()
  const missing = named.filter((id) => !table.some((row) => row.id === id))
  expect(missing.map((id) => [id, ...(files.get(id) ?? []), ...(commands.get(id) ?? [])])).toEqual([])
})

test('every command that names a fault has a short form or says that it has none', () => {
  expect(Object.keys(FORMS).sort()).toEqual([...new Set(table.flatMap((row) => row.commands))].sort())
})
