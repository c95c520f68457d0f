/** Two server processes on one Redis that is about to fail, under a load of devices and users. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import type { Config } from '../../../src/config.ts'
import type { Context } from '../../../src/flows/context.ts'
import { createTestDatabase } from '../../rig/engines/database.ts'
import {
  type MadeApplication,
  type MadeUser,
  makeAccount,
  makeApplication,
  makeConfig,
  makeUser,
} from '../../rig/make.ts'
import { LONG_POSTGRES_TIMEOUTS, type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startLoad, type UsageCounters } from '../load.ts'

const INTERVAL_SECONDS = 2

/** A decision that no announcement brought is in the audit log, which every process reads four times per second. */
const FEED_MS = 2_000

export type GateService = {
  readonly servers: readonly ServerProcess[]
  readonly context: Context
  readonly application: MadeApplication
  readonly user: MadeUser
  readonly config: Config
  readonly account: { id: string; slug: string }
  /**
   * Runs the fault while devices request codes, poll and collect, users decide, and some time afterwards. No answer was
   * wrong, no device that keeps the interval was slowed down, and each heard of its decision within two intervals, not
   * counting the time for which the whole machine stood still.
   */
  through(fault: () => Promise<unknown>): Promise<UsageCounters>
  stop(): Promise<void>
}

/** `urls`: REDIS_URL of each server process; that of the first is the deciding user's as well. */
export async function startGateService(urls: readonly [string, string]): Promise<GateService> {
  const database = await createTestDatabase({})
  const environment = { DATABASE_URL: database.url, POLL_INTERVAL: String(INTERVAL_SECONDS), LOG_LEVEL: 'info' }
  const config = makeConfig({ ...environment, REDIS_URL: urls[0], LOG_LEVEL: 'silent' })
  const context = await createContext(config)
  const account = await makeAccount(context.db)
  const application = await makeApplication(context.db, config, account.slug)
  const user = await makeUser(context.db, account.slug)
  // A busy machine may take PostgreSQL longer than its limits, which are not the subject.
  const options = { preload: LONG_POSTGRES_TIMEOUTS }
  const servers = await Promise.all(urls.map((url) => startServerProcess({ ...environment, REDIS_URL: url }, options)))
  const addresses = servers.map(({ address }) => address)
  return {
    servers,
    context,
    application,
    user,
    config,
    account,
    through: async (fault) => {
      const intervalMs = INTERVAL_SECONDS * 1000
      const load = startLoad({
        ...{ addresses, application, context, user, intervalMs },
        devices: 12,
        pendingMayBeOldMs: FEED_MS,
      })
      const eventLoop = monitorEventLoopDelay()
      eventLoop.enable()
      await sleep(1_000)
      let problems: string[] = []
      try {
        await fault()
        await sleep(2_000)
      } finally {
        problems = await load.finish()
      }
      expect(problems).toEqual([])
      const totals = load.totals()
      expect(totals).toMatchObject({ slowDowns: 0, codesRefused: 0 })
      expect(totals.collected).toBeGreaterThan(5)
      const stoodStillMs = eventLoop.max / 1e6
      expect(Math.max(...load.delays())).toBeLessThan(2 * intervalMs + stoodStillMs)
      return totals
    },
    stop: async () => {
      await Promise.all(servers.map((server) => server.kill('SIGTERM')))
      await closeContext(context)
      await database.drop()
    },
  }
}
