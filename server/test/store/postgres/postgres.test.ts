/** Which errors of PostgreSQL are `Unavailable`, which are bugs, and which are tried again. */
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openPostgres, type Postgres, type Transaction, Unavailable } from '../../../src/store/postgres/postgres.ts'
import { createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'
import { useOwnTimeouts } from '../../rig/engines/long-timeouts.ts'

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

  it('F14: a transaction that PostgreSQL ended because nothing came for too long, when the process sends the next statement', async () => {
    const work = db.transaction(async (tx) => {
      await tx.query("set local idle_in_transaction_session_timeout = '50ms'")
      // The process stands still: it reads that its session was ended only after it has sent the next statement.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
      await tx.query('select 1')
    })
    expect(await failure(work)).toMatchObject({ name: 'Unavailable', cause: { code: '25P03' } })
    expect((await db.query('select 1')).rowCount).toBe(1)
  })
})

describe("transactions in each other's way", () => {
  beforeAll(() => db.query('create table counters (name text primary key, value int not null)'))
  beforeEach(async () => {
    await db.query('truncate counters')
    await db.query("insert into counters values ('a', 0), ('b', 0)")
  })

  const add = (tx: Transaction, name: string) =>
    tx.query('update counters set value = value + 1 where name = $1', [name])
  const values = async () => {
    const { rows } = await db.query<{ value: number }>('select value from counters order by name')
    return rows.map(({ value }) => value)
  }

  it('F13: the one that PostgreSQL ends as a deadlock runs again, and both are committed once', async () => {
    const bothHoldOne = twoArrive()
    let runs = 0
    const inOrder = (first: string, second: string) =>
      db.transaction(async (tx) => {
        runs += 1
        await add(tx, first)
        await bothHoldOne()
        await add(tx, second)
        return first
      })
    expect(await Promise.all([inOrder('a', 'b'), inOrder('b', 'a')])).toEqual(['a', 'b'])
    expect(runs).toBe(3)
    expect(await values()).toEqual([2, 2])
  })

  it('F13: the one that reads what the other has changed runs again, and counts on from there', async () => {
    const bothHaveRead = twoArrive()
    let runs = 0
    const readAndWrite = () =>
      db.transaction(async (tx) => {
        runs += 1
        await tx.query('set transaction isolation level serializable')
        const { rows } = await tx.query<{ value: number }>("select value from counters where name = 'a'")
        await bothHaveRead()
        await tx.query("update counters set value = $1 where name = 'a'", [(rows[0]?.value ?? 0) + 1])
      })
    await Promise.all([readAndWrite(), readAndWrite()])
    expect(runs).toBe(3)
    expect(await values()).toEqual([2, 0])
  })

  it('F13: three times and no more; then it is unavailable, and nothing of it is left', async () => {
    let runs = 0
    const work = db.transaction(async (tx) => {
      runs += 1
      await tx.query('set transaction isolation level repeatable read')
      await add(tx, 'b')
      await db.query("update counters set value = value + 10 where name = 'a'")
      await add(tx, 'a')
    })
    expect(await failure(work)).toMatchObject({ name: 'Unavailable', silent: false, cause: { code: '40001' } })
    expect(runs).toBe(3)
    expect(await values()).toEqual([30, 0])
  })

  it('a lock timeout is not tried again: it has waited long enough', async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query('begin; lock table counters')
    let runs = 0
    const work = db.transaction(async (tx) => {
      runs += 1
      await add(tx, 'a')
    })
    expect(await failure(work)).toMatchObject({ name: 'Unavailable', cause: { code: '55P03' } })
    expect(runs).toBe(1)
    await client.end()
  })
})

/** Waits until two have called it. Later calls, by a transaction that runs again, pass. */
function twoArrive(): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let arrived = 0
  return () => {
    arrived += 1
    if (arrived === 2) resolve()
    return promise
  }
}

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
