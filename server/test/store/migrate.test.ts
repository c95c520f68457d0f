/** Migrations: forward only, once each, whoever runs them. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { migrate, pendingMigrations } from '../../src/store/migrate.ts'
import { engineUrl } from '../rig/database.ts'

const name = `test_${randomBytes(6).toString('hex')}`
const url = () => {
  const address = new URL(engineUrl('DATABASE_URL'))
  address.pathname = `/${name}`
  return address.toString()
}
const admin = async (sql: string) => {
  const client = new pg.Client({ connectionString: engineUrl('DATABASE_URL') })
  await client.connect()
  await client.query(sql)
  await client.end()
}
beforeAll(() => admin(`create database ${name}`))
afterAll(() => admin(`drop database ${name} with (force)`))

it('a database that was never migrated lacks everything', async () => {
  expect(await pendingMigrations(url())).toContain('0001_device_flow.sql')
})

it('of five processes that migrate at once, each migration is applied by one', async () => {
  const applied = (await Promise.all([1, 2, 3, 4, 5].map(() => migrate(url())))).flat()
  expect(applied).toEqual([...new Set(applied)])
  expect(applied).toContain('0001_device_flow.sql')
  expect(await pendingMigrations(url())).toEqual([])
  expect(await migrate(url())).toEqual([])
})

it('a PostgreSQL that does not answer is named, not shown as a stack', async () => {
  await expect(pendingMigrations('postgres://nobody@127.0.0.1:1/none')).rejects.toThrow(/^PostgreSQL: .*ECONNREFUSED/)
})
