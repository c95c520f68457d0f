/** Migrations: forward only, each applied once by concurrent runners. */
import { once } from 'node:events'
import { appendFileSync, cpSync, mkdtempSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { migrate, pendingMigrations } from '../../../src/store/postgres/migrate.ts'
import { MIGRATIONS_FOLDER } from '../../../src/store/postgres/migration-files.ts'
import { splitStatements } from '../../../src/store/postgres/sql-statements.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../../rig/engines/database.ts'

let database: EmptyDatabase
beforeAll(async () => {
  database = await createEmptyDatabase()
})
afterAll(() => database.drop())

it('an empty database lacks all migrations', async () => {
  expect(await pendingMigrations(database.url)).toContain('0001_accounts.sql')
})

it('each migration is applied once by five processes at the same moment', async () => {
  const applied = (await Promise.all([1, 2, 3, 4, 5].map(() => migrate(database.url)))).flat()
  expect(applied).toEqual([...new Set(applied)])
  expect(applied).toContain('0001_accounts.sql')
  expect(await pendingMigrations(database.url)).toEqual([])
  expect(await migrate(database.url)).toEqual([])
})

it('a changed migration of a release is refused, also by a database that has applied it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'))
  onTestFinished(() => removeFolder(folder))
  cpSync(MIGRATIONS_FOLDER, folder, { recursive: true })
  appendFileSync(join(folder, '0004_grants.sql'), '-- More.\n')
  await expect(migrate(database.url, pathToFileURL(`${folder}/`))).rejects.toThrow(
    'migration 0004_grants.sql was released and has been changed since: restore the file of the release',
  )
})

it('waits for PostgreSQL, for a bounded time', async () => {
  const { hostname, port, pathname } = new URL(database.url)
  const late = createServer((socket) => void socket.pipe(connect(Number(port), hostname)).pipe(socket))
  const at = await freePort()
  const url = `postgres://latchkey@127.0.0.1:${at}${pathname}`
  await expect(migrate(url, undefined, 300)).rejects.toThrow('ECONNREFUSED')
  const applied = migrate(url, undefined, 20_000)
  setTimeout(() => late.listen(at, '127.0.0.1'), 1_000)
  expect(await applied).toEqual([])
  late.close()
})

it('a broken connection rejects the call, and does not end the process', async () => {
  // Authenticates a client, reports ReadyForQuery, and closes the connection at the first query.
  const authenticated = Buffer.from('520000000800000000', 'hex')
  const readyForQuery = Buffer.from('5a0000000549', 'hex')
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write(Buffer.concat([authenticated, readyForQuery]))
      socket.once('data', () => socket.end())
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const thrown: unknown[] = []
  const keep = (error: unknown) => thrown.push(error)
  process.on('uncaughtException', keep)
  await expect(pendingMigrations(`postgres://nobody@127.0.0.1:${port}/none`)).rejects.toThrow('Connection terminated')
  await new Promise((resolve) => setImmediate(resolve))
  process.off('uncaughtException', keep)
  server.close()
  expect(thrown).toEqual([])
})

describe('a file is split into statements', () => {
  it.each([
    ['select 1; select 2;', ['select 1', 'select 2']],
    ["select ';' as a; -- one; two\nselect 2", ["select ';' as a", 'select 2']],
    ['do $x$ begin; end $x$; select ";" from t', ['do $x$ begin; end $x$', 'select ";" from t']],
    ['select/* a comment; */1', ['select 1']],
    ["select E'\\';' as a; select 2", ["select E'\\';' as a", 'select 2']],
  ])('%s', (sql, statements) => {
    expect(splitStatements(sql)).toEqual(statements)
  })

  it('a body with "begin atomic" is refused', () => {
    const sql = 'create function one() returns int begin atomic; select 1; end'
    expect(() => splitStatements(sql)).toThrow('write the body in dollar quotes')
  })
})

it('an unreachable PostgreSQL is reported by name, without a stack', async () => {
  await expect(pendingMigrations('postgres://nobody@127.0.0.1:1/none')).rejects.toThrow(/^PostgreSQL: .*ECONNREFUSED/)
})
