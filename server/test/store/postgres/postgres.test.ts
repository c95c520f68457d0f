/** Which errors of PostgreSQL are `Unavailable`, and which are bugs. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgres, type Postgres, Unavailable } from '../../../src/store/postgres/postgres.ts'
import { createTestDatabase, type TestDatabase } from '../../rig/database.ts'
import { useOwnTimeouts } from '../../rig/patience.ts'

useOwnTimeouts()

let database: TestDatabase
let db: Postgres
beforeAll(async () => {
  database = await createTestDatabase()
  db = openPostgres(database.url, 2)
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

const failure = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: Error) => error,
  )

describe('unavailable', () => {
  it.each([
    'postgres://nobody@127.0.0.1:1/none',
    'postgres://nobody@%2Ftmp%2Fno-such-folder/none',
    'postgres://nobody@host.invalid/none',
  ])('%s cannot be reached', async (url) => {
    const gone = openPostgres(url, 1)
    expect(await failure(gone.query('select 1'))).toMatchObject({ name: 'Unavailable', silent: true })
    expect(await failure(gone.transaction(async () => {}))).toMatchObject({ name: 'Unavailable', silent: true })
    await gone.close()
  })

  it('a lock timeout, and the connection is kept', async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query('begin; lock table accounts')
    const pids = async () => (await db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
    const error = await failure(db.transaction((tx) => tx.query('select from accounts')))
    expect(error).toMatchObject({ name: 'Unavailable', silent: false })
    await client.query('rollback')
    await client.end()
    expect(await pids()).toBeGreaterThan(0)
  })

  it('a connection terminated by the server', async () => {
    const error = await failure(db.transaction((tx) => tx.query('select pg_terminate_backend(pg_backend_pid())')))
    expect(error).toBeInstanceOf(Unavailable)
    expect((await db.query('select 1')).rowCount).toBe(1)
  })
})

describe('not unavailable', () => {
  it('a wrong statement is a bug, and rejects with its SQLSTATE', async () => {
    expect(await failure(db.query('select no_such_column from accounts'))).toMatchObject({ code: '42703' })
  })

  it('an error thrown inside a transaction is rethrown, and the transaction rolled back', async () => {
    const thrown = new TypeError('a bug of ours')
    const work = db.transaction(async (tx) => {
      await tx.query("insert into scopes (name, title, created_at) values ('kept', 'Kept', now())")
      throw thrown
    })
    expect(await failure(work)).toBe(thrown)
    expect((await db.query("select from scopes where name = 'kept'")).rowCount).toBe(0)
  })
})
