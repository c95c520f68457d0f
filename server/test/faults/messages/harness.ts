/**
 * A server in a process of its own, whose messages to PostgreSQL and Redis go over a link, and this process, which has its own
 * way to both. The database has a clock of its own, so that nobody waits for the end of a lease.
 */
import '../../rig/engines/long-timeouts.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../../tools/free-port.ts'
import { LEASE_MS } from '../../../src/core/device/code.ts'
import { Device, post } from '../../rig/device.ts'
import { makeDialogApplication } from '../../rig/dialog.ts'
import { startOwnRedis } from '../../rig/engines/own-redis.ts'
import type { MadeApplication } from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { Web } from '../../rig/web.ts'
import { type Link, openLink } from './link.ts'

export type Harness = {
  /** Its address is that of the server; its context has a way of its own to the engines. */
  readonly service: TestService
  readonly dialogApplication: MadeApplication
  readonly link: Link
  /** Starts the server again if it was killed, and waits until it is ready. */
  ready(): Promise<void>
  /** Leases of processes that are gone end. */
  endLeases(): Promise<void>
  /** Unexpected errors that the server has logged since the last call. */
  complaints(): readonly string[]
  stop(): Promise<void>
}

/** Starts a server with these settings; its port and its address are given. */
export type StartServer = (
  environment: Record<string, string>,
) => Promise<Pick<ServerProcess, 'log' | 'kill' | 'exited'>>

export async function openHarness(startServer: StartServer = startServerProcess): Promise<Harness> {
  const redis = await startOwnRedis()
  const port = await freePort()
  const settings = { PORT: String(port), PUBLIC_URL: `http://localhost:${port}`, POLL_INTERVAL: '1' }
  const ownSettings = { ...settings, REDIS_URL: redis.url, LOG_LEVEL: 'silent' }
  const own = await startTestService(ownSettings, { clock: true, listen: false })
  const dialogApplication = await makeDialogApplication(own)
  let server: Awaited<ReturnType<StartServer>> | null = null
  let killed = false
  const engines = { postgresql: Number(new URL(own.database.url).port), redis: redis.port }
  const link = await openLink(engines, () => {
    killed = true
    void server?.kill('SIGKILL')
  })
  const through = (url: string, proxy: number) => Object.assign(new URL(url), { port: String(proxy) }).href
  const environment = {
    ...settings,
    DATABASE_URL: through(own.database.url, link.ports.postgresql),
    REDIS_URL: through(redis.url, link.ports.redis),
    CODE_REQUESTS_PER_NETWORK: '1000000',
    CODE_REQUESTS_PER_APPLICATION: '1000000',
  }
  let read = 0
  const start = async () => {
    server = await retryStart(() => startServer(environment))
    read = 0
    killed = false
  }
  await start()
  const address = `http://127.0.0.1:${port}`
  const service: TestService = {
    ...own,
    address,
    device: (variant = 'oauth', by = own.application) => new Device(address, by, variant),
    web: (headers = {}, slug = own.account.slug) => new Web(address, `${slug}.localhost:${port}`, headers),
  }
  return {
    service,
    dialogApplication,
    link,
    ready: async () => {
      if (killed) {
        await server?.exited
        await start()
      }
      for (let look = 0; look < 200; look += 1) {
        const answer = await post(address, '/health/ready', { method: 'GET' }).catch(() => null)
        if (answer?.status === 200) return
        await sleep(50)
      }
      throw new Error(`the server does not recover:\n${server?.log()}`)
    },
    endLeases: () => own.database.advance(LEASE_MS),
    complaints: () => {
      const lines = server?.log().split('\n') ?? []
      const fresh = lines.slice(read).filter((line) => COMPLAINT.test(line))
      read = lines.length
      return fresh
    },
    stop: async () => {
      await server?.kill('SIGKILL')
      await link.stop()
      await own.stop()
      await redis.stop()
    },
  }
}

const STARTS = 5

/** A server does not start while PostgreSQL takes longer than a second to accept a connection, as on a busy machine. */
export async function retryStart<T>(start: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await start()
    } catch (error) {
      if (tried === STARTS) throw error
    }
  }
}

/** A line of the log. */
export const COMPLAINT = /"event":"unexpected"/
