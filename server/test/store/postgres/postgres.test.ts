/** What counts as "PostgreSQL is away", and what is a bug. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgres, type Postgres, Unavailable } from '../../../src/store/postgres/postgres.ts'
import { createTestDatabase, type TestDatabase } from '../../rig/database.ts'

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

describe('away', () => {
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

  it('a lock that is not given up in time, and the connection is kept', async () => {
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

  it('a connection that is ended from the other side', async () => {
    const error = await failure(db.transaction((tx) => tx.query('select pg_terminate_backend(pg_backend_pid())')))
    expect(error).toBeInstanceOf(Unavailable)
    expect((await db.query('select 1')).rowCount).toBe(1)
  })
})

describe('not away', () => {
  it('a statement that is wrong is a bug, and says so', async () => {
    expect(await failure(db.query('select no_such_column from accounts'))).toMatchObject({ code: '42703' })
  })

  it('what is thrown in the middle of a transaction comes out as it is, and nothing is kept', async () => {
    const thrown = new TypeError('a bug of ours')
    const work = db.transaction(async (tx) => {
      await tx.query("insert into scopes (name, title, created_at) values ('kept', 'Kept', now())")
      throw thrown
    })
    expect(await failure(work)).toBe(thrown)
    expect((await db.query("select from scopes where name = 'kept'")).rowCount).toBe(0)
  })
})
