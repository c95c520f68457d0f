/**
 * Where codes are raced for: servers on one database, and users of two accounts. All processes wait for a busy PostgreSQL or Redis
 * far longer than in production: what the service does without them is proven elsewhere (verify -- outages).
 */
import '../rig/engines/long-timeouts.ts'
import { closeContext, createContext } from '../../src/app.ts'
import { createTestDatabase, engineUrl } from '../rig/engines/database.ts'
import { makeAccount, makeApplication, makeConfig, makeUser } from '../rig/make.ts'
import { LONG_TIMEOUTS, type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'
import type { RaceTrack } from './race-track.ts'

type RaceInstallation = Pick<RaceTrack, 'application' | 'context' | 'users' | 'query'> & {
  startServers(processes: number, more?: Record<string, string>): Promise<ServerProcess[]>
  close(): Promise<void>
}

export async function openInstallation(): Promise<RaceInstallation> {
  const database = await createTestDatabase()
  const environment = {
    // No shedding: code requests are not what is raced for here.
    OVERLOAD_DELAY: '0',
    DATABASE_URL: database.url,
    REDIS_URL: engineUrl('REDIS_URL'),
  }
  const config = makeConfig(environment)
  const context = await createContext(config)
  const accounts = [await makeAccount(context.db), await makeAccount(context.db)] as const
  return {
    application: await makeApplication(context.db, config, accounts[0].slug),
    context,
    users: [await makeUser(context.db, accounts[0].slug), await makeUser(context.db, accounts[1].slug)],
    query: database.query,
    startServers: (processes, more = {}) => {
      const start = () => startServerProcess({ ...environment, ...more }, { preload: LONG_TIMEOUTS })
      return Promise.all(Array.from({ length: processes }, start))
    },
    close: async () => {
      await closeContext(context)
      await database.drop()
    },
  }
}
