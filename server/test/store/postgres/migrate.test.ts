/** Migrations: forward only, each applied once by concurrent runners. */
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { migrate, pendingMigrations } from '../../../src/store/postgres/migrate.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../../rig/engines/database.ts'

let database: EmptyDatabase
beforeAll(async () => {
  database = await createEmptyDatabase()
})
afterAll(() => database.drop())

it('an empty database lacks all migrations', async () => {
  expect(await pendingMigrations(database.url)).toContain('0001_schema.sql')
})

it('each migration is applied once by five processes at the same moment', async () => {
  const applied = (await Promise.all([1, 2, 3, 4, 5].map(() => migrate(database.url)))).flat()
  expect(applied).toEqual([...new Set(applied)])
  expect(applied).toContain('0001_schema.sql')
  expect(await pendingMigrations(database.url)).toEqual([])
  expect(await migrate(database.url)).toEqual([])
})

it('a file with an unknown directive is refused', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'))
  onTestFinished(() => removeFolder(folder))
  writeFileSync(join(folder, '0099_later.sql'), '-- latchkey: no-transactions\nselect 1;\n')
  await expect(migrate(database.url, pathToFileURL(`${folder}/`))).rejects.toThrow(
    'migration 0099_later.sql has an unknown directive: no-transactions',
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

it('an unreachable PostgreSQL is reported by name, without a stack', async () => {
  await expect(pendingMigrations('postgres://nobody@127.0.0.1:1/none')).rejects.toThrow(/^PostgreSQL: .*ECONNREFUSED/)
})
