/**
 * Where codes are raced for: servers on one database, or on each database of three cells, and users of two accounts in each. All
 * processes wait for a busy PostgreSQL or Redis far longer than in production: what the service does without them is proven
 * elsewhere (verify:outages).
 */
import '../rig/engines/long-timeouts.ts'
import { closeContext, createContext } from '../../src/app.ts'
import type { Context } from '../../src/flows/context.ts'
import { startTestCells } from '../rig/cells.ts'
import { createTestDatabase, engineUrl } from '../rig/engines/database.ts'
import { startOwnRedis } from '../rig/engines/own-redis.ts'
import { makeAccount, makeApplication, makeConfig, makeUser } from '../rig/make.ts'
import { LONG_TIMEOUTS, type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'
import type { RaceTrack, RaceUser } from './race-track.ts'

export type RaceInstallation = Pick<RaceTrack, 'application' | 'usersOf' | 'query' | 'divided'> & {
  /** In which users decide: one in each cell. */
  readonly contexts: readonly Context[]
  /** So many in all, in each cell in turn. */
  startServers(processes: number, more?: Record<string, string>): Promise<ServerProcess[]>
  close(): Promise<void>
}

/** Without shedding: code requests are not what is raced for here. */
const UNLIMITED = { OVERLOAD_DELAY: '0' }

const startServer = (environment: Record<string, string>) => startServerProcess(environment, { preload: LONG_TIMEOUTS })

export async function openUndivided(): Promise<RaceInstallation> {
  const database = await createTestDatabase()
  const environment = { ...UNLIMITED, DATABASE_URL: database.url, REDIS_URL: engineUrl('REDIS_URL') }
  const config = makeConfig(environment)
  const context = await createContext(config)
  const accounts = [await makeAccount(context.db), await makeAccount(context.db)] as const
  const userOf = async ({ slug }: { slug: string }) => ({ ...(await makeUser(context.db, slug)), context })
  const users = [await userOf(accounts[0]), await userOf(accounts[1])] as const
  return {
    application: await makeApplication(context.db, config, accounts[0].slug),
    usersOf: () => users,
    query: database.query,
    divided: false,
    contexts: [context],
    startServers: (processes, more = {}) =>
      Promise.all(Array.from({ length: processes }, () => startServer({ ...environment, ...more }))),
    close: async () => {
      await closeContext(context)
      await database.drop()
    },
  }
}

const CELLS = 3

/** Each cell has a Redis of its own: a decision is announced to all who share one. */
export async function openCells(): Promise<RaceInstallation> {
  const redis = await Promise.all(Array.from({ length: CELLS }, startOwnRedis))
  const environmentOf = (cell: number) => ({ ...UNLIMITED, REDIS_URL: redis[cell]?.url ?? '' })
  const all = await startTestCells(environmentOf)
  const contexts = all.cells.map(({ service }) => service.context)
  const users: (readonly [RaceUser, RaceUser])[] = []
  for (const [cell, context] of contexts.entries()) {
    const makeRacer = async () => ({ ...(await all.makeMember(cell)), context })
    users.push([await makeRacer(), await makeRacer()])
  }
  const usersIn = (cell: number) => {
    const found = users[cell % CELLS]
    if (!found) throw new Error(`no cell ${cell}`)
    return found
  }
  return {
    application: all.application,
    // Every cell issues codes for users of every cell, and the second user of a code is in any of them.
    usersOf: (index) => {
      const first = index + Math.floor(index / CELLS)
      return [usersIn(first)[0], usersIn(first + Math.floor(index / CELLS ** 2))[1]]
    },
    query: all.query,
    divided: true,
    contexts,
    startServers: (processes, more = {}) =>
      Promise.all(
        Array.from({ length: processes }, (_, index) => startServer({ ...all.environmentOf(index % CELLS), ...more })),
      ),
    close: async () => {
      await all.stop()
      await Promise.all(redis.map((each) => each.stop()))
    },
  }
}
