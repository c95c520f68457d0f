/**
 * One database, several built servers, and this process, which calls flows as pages and commands do. All of them wait for a busy
 * PostgreSQL far longer than in production: what a service does without it is proven elsewhere (verify -- outages).
 */
import '../rig/engines/long-timeouts.ts'
import { startEngines } from '../../../tools/engines.ts'
import { closeContext, createContext } from '../../src/app.ts'
import type { Context } from '../../src/flows/context.ts'
import { createTestDatabase, type TestDatabase } from '../rig/engines/database.ts'
import { makeConfig } from '../rig/make.ts'
import { LONG_TIMEOUTS, type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'

const PROCESSES = 3

export type RaceHarness = {
  readonly database: TestDatabase
  readonly context: Context
  /** Starts the servers, with all applications registered so far, and returns their addresses. */
  startServers(): Promise<readonly string[]>
  /** Unexpected log lines of the servers. */
  complaints(): string[]
  end(): Promise<void>
}

export async function openRaceHarness(more: Record<string, string> = {}): Promise<RaceHarness> {
  const { databaseUrl, redisUrl } = await startEngines()
  process.env.DATABASE_URL ??= databaseUrl
  process.env.REDIS_URL ??= redisUrl
  const database = await createTestDatabase()
  const environment = { DATABASE_URL: database.url, REDIS_URL: process.env.REDIS_URL, ...more }
  const context = await createContext(makeConfig(environment))
  const servers: ServerProcess[] = []
  return {
    database,
    context,
    startServers: async () => {
      const start = () => startServerProcess(environment, { preload: LONG_TIMEOUTS })
      servers.push(...(await Promise.all(Array.from({ length: PROCESSES }, start))))
      return servers.map(({ address }) => address)
    },
    complaints: () => servers.flatMap((server) => server.log().split('\n')).filter((line) => COMPLAINT.test(line)),
    end: async () => {
      await Promise.all(servers.map((server) => server.kill('SIGTERM')))
      await closeContext(context)
      await database.drop()
    },
  }
}

const COMPLAINT = /"event":"(?:unexpected|task_failed|engine_away)"/
