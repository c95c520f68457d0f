/** Migrations: forward only, once each, whoever runs them. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { migrate, pendingMigrations } from '../../../src/store/postgres/migrate.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../../rig/database.ts'

let database: EmptyDatabase
beforeAll(async () => {
  database = await createEmptyDatabase()
})
afterAll(() => database.drop())

it('a database that was never migrated lacks everything', async () => {
  expect(await pendingMigrations(database.url)).toContain('0001_accounts.sql')
})

it('of five processes that migrate at once, each migration is applied by one', async () => {
  const applied = (await Promise.all([1, 2, 3, 4, 5].map(() => migrate(database.url)))).flat()
  expect(applied).toEqual([...new Set(applied)])
  expect(applied).toContain('0001_accounts.sql')
  expect(await pendingMigrations(database.url)).toEqual([])
  expect(await migrate(database.url)).toEqual([])
})

it('a PostgreSQL that does not answer is named, not shown as a stack', async () => {
  await expect(pendingMigrations('postgres://nobody@127.0.0.1:1/none')).rejects.toThrow(/^PostgreSQL: .*ECONNREFUSED/)
})
