/** What tests compare before and after: every change of a row shows, although rows that were read are not read again. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'
import { readEveryRow } from '../../rig/engines/every-row.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  await database.query('create table parts (id int, name text, used_at int) partition by list (id)')
  await database.query('create table parts_one partition of parts for values in (1)')
  await database.query('create table parts_two partition of parts for values in (2)')
  await database.query('create table left_alone (id int)')
})
afterAll(() => database?.drop())

const read = () => readEveryRow(database, { tables: ['left_alone'], columns: { parts: ['used_at'] } })
const parts = async () => (await read()).parts

it('shows a row that is inserted, updated, moved to another partition or deleted', async () => {
  expect(await parts()).toEqual([])
  await database.query("insert into parts values (1, 'a'), (1, 'b')")
  expect(await parts()).toEqual(['parts {"id": 1, "name": "a"}', 'parts {"id": 1, "name": "b"}'])
  await database.query("update parts set name = 'c' where name = 'a'")
  expect(await parts()).toEqual(['parts {"id": 1, "name": "b"}', 'parts {"id": 1, "name": "c"}'])
  await database.query("update parts set id = 2 where name = 'c'")
  expect(await parts()).toEqual(['parts {"id": 1, "name": "b"}', 'parts {"id": 2, "name": "c"}'])
  await database.query("delete from parts where name = 'b'")
  expect(await parts()).toEqual(['parts {"id": 2, "name": "c"}'])
})

it('shows a change that is taken back at once only as long as it is there', async () => {
  const before = await read()
  await database.query("begin; update parts set name = 'd'; rollback")
  expect(await read()).toEqual(before)
  await database.query("update parts set name = 'd'")
  expect(await read()).not.toEqual(before)
  await database.query("update parts set name = 'c'")
  expect(await read()).toEqual(before)
})

it('shows neither tables nor columns that are left out', async () => {
  const before = await read()
  await database.query('update parts set used_at = 7; insert into left_alone values (1)')
  expect(await read()).toEqual(before)
  expect(Object.keys(before)).not.toContain('left_alone')
})
