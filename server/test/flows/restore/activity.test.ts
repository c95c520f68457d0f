/** The table processes: who may have seen commits confirmed. docs/decisions/0062-lost-commits-are-proven.md */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import type { Context } from '../../../src/flows/context.ts'
import { noteActivity, noteEnd } from '../../../src/flows/restore/activity.ts'
import { settleBeforeServing } from '../../../src/flows/restore/settle.ts'
import { createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'
import { makeConfig } from '../../rig/make.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'

let database: TestDatabase
let contexts: readonly Context[]
beforeAll(async () => {
  database = await createTestDatabase()
  const config = makeConfig({ DATABASE_URL: database.url })
  contexts = [await createContext(config), await createContext(config)]
  await settleBeforeServing(first())
})
afterAll(async () => {
  await Promise.all(contexts.map(closeContext))
  await database.drop()
})
beforeEach(() => database.query('delete from processes; delete from signing_keys'))

const at = (index: number) => contexts[index] as Context
const first = () => at(0)
const second = () => at(1)

const noted = async () => (await database.query<{ id: string }>('select id from processes')).map(({ id }) => id).sort()
const ids = (...some: Context[]) => some.map(({ commits }) => commits.processId).sort()

/** As if nothing had been noted for so long. */
const wait = (context: Context, seconds: number) =>
  database.query(`update processes set seen_at = seen_at - $2 * interval '1 second' where id = $1`, [
    context.commits.processId,
    seconds,
  ])

it('a process is noted from its start to its end', async () => {
  const server = await startServerProcess({ DATABASE_URL: database.url })
  expect(await noted()).toHaveLength(1)
  await server.kill('SIGTERM')
  expect(await noted()).toEqual([])
  const killed = await startServerProcess({ DATABASE_URL: database.url })
  await killed.kill('SIGKILL')
  expect(await noted()).toHaveLength(1)
})

it('one that was not noted for a minute is removed by the others, which were meanwhile', async () => {
  for (const context of contexts) await noteActivity(context)
  await wait(first(), 55)
  await noteActivity(second())
  expect(await noted()).toEqual(ids(first(), second()))
  await wait(first(), 10)
  await noteActivity(second())
  expect(await noted()).toEqual(ids(second()))
})

it('after an outage, nobody removes the others until they had the time to come back', async () => {
  for (const context of contexts) await noteActivity(context)
  for (const context of contexts) await wait(context, 600)
  await noteActivity(first())
  expect(await noted()).toEqual(ids(first(), second()))
  await noteActivity(second())
  await noteActivity(first())
  expect(await noted()).toEqual(ids(first(), second()))
})

it('while a history is not settled, nothing is noted, and nobody leaves', async () => {
  await noteActivity(first())
  await database.query('delete from signing_keys')
  await database.query("update restores set history = '1/00000001/1'")
  await database.query("update processes set history = '1/00000001/1'")
  await noteActivity(second())
  await noteEnd(first())
  expect(await noted()).toEqual(ids(first()))
  expect(await database.query('select from signing_keys')).toEqual([])
  await settleBeforeServing(second())
  await noteActivity(second())
  await noteEnd(first())
  expect(await noted()).toEqual(ids(second()))
  expect(await database.query('select from signing_keys')).toHaveLength(1)
})
