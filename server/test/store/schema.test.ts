/** server/schema.sql is the schema that the migrations create. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { dumpSchema, SCHEMA_FILE } from '../../../tools/schema.ts'
import { createTestDatabase, type TestDatabase } from '../rig/engines/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

it('server/schema.sql is the schema that the migrations create; otherwise run "npm run schema"', () => {
  expect(dumpSchema(database.url)).toBe(readFileSync(SCHEMA_FILE, 'utf8'))
})

it('a constraint over several columns has a descriptive name', async () => {
  const generated = "conname ~ '_check[0-9]+$' or (conname ~ '_check$' and cardinality(conkey) > 1)"
  expect(await database.query(`select conname from pg_constraint where ${generated}`)).toEqual([])
})

it('partitions created by the service are not part of it', async () => {
  await database.query("select make_device_code_partition('2026-11-16T05:00:00Z')")
  expect(dumpSchema(database.url)).toBe(readFileSync(SCHEMA_FILE, 'utf8'))
})
