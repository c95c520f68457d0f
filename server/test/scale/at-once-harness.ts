/** Engines of their own, which may be killed; several processes on one port; applications, users and codes. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRedis } from '../../../tools/engine-processes.ts'
import { freePort } from '../../../tools/free-port.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { closeContext, createContext } from '../../src/app.ts'
import type { Context } from '../../src/flows/context.ts'
import { type RecordedCode, RecordedCodes } from '../history/recorded-code.ts'
import { Device } from '../rig/device.ts'
import { type OwnPostgres, startOwnPostgres } from '../rig/engines/own-postgres.ts'
import { type MadeUser, makeAccount, makeApplication, makeConfig, makeUser } from '../rig/make.ts'
import { debuggersOf, evaluateWithin } from '../rig/process/debugger.ts'
import {
  isRunning,
  listeningPids,
  residentMb,
  type ServerProcess,
  startServerProcess,
} from '../rig/process/server-process.ts'

/** A process holds up to 20,000 polls, 10,000 of one application. */
const PROCESSES = 4
const APPLICATIONS = 3

/** Grants of one user wait for each other. */
const USERS = 32

const CODES_AT_ONCE = 32

const GC_OPTIONS = ['--expose-gc', '--inspect=127.0.0.1:0']

export type Size = { readonly held: number; readonly rate: number; readonly seconds: number }

export type PlacedCode = { readonly recorded: RecordedCode; readonly form: string }

export type AtOnceHarness = {
  readonly redis: boolean
  readonly postgres: OwnPostgres
  readonly redisEngine: ReturnType<typeof createRedis>
  readonly context: Context
  readonly server: ServerProcess
  placeCodes(count: number): Promise<PlacedCode[]>
  readonly users: readonly MadeUser[]
  /** Enters the code and grants it; retries while PostgreSQL is away. Returns when the decision was announced. */
  decide(user: MadeUser, code: PlacedCode): Promise<void>
  /** Checks the history of each code that was placed, prints their number and returns the problems. */
  judgeHistories(): readonly string[]
  /** Processes that run now. */
  pids(): number[]
  /** Resident memory of all processes, after their garbage was collected if `collected`. */
  memoryMb(collected: boolean): Promise<number>
  heldPolls(): Promise<number>
}

export async function openAtOnceHarness<T>(redis: boolean, work: (harness: AtOnceHarness) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-at-once-'))
  const postgres = await startOwnPostgres()
  const redisEngine = createRedis(folder, await freePort())
  redisEngine.start()
  const environment = {
    DATABASE_URL: postgres.url,
    ...(redis ? { REDIS_URL: redisEngine.url } : {}),
    DEVICE_CODE_LIFETIME: '3600',
    // Fixed: if all processes are killed at the same time, the next one has to get the same port.
    PORT: String(await freePort()),
    METRICS_PORT: '0',
    DRAIN_SECONDS: '0',
  }
  const config = makeConfig(environment)
  const context = await createContext(config)
  const account = await makeAccount(context.db)
  const users: MadeUser[] = []
  for (let index = 0; index < USERS; index += 1) users.push(await makeUser(context.db, account.slug))
  const codes = new RecordedCodes()
  const applications = await Promise.all(
    Array.from({ length: APPLICATIONS }, () => makeApplication(context.db, config, account.slug)),
  )
  const server = await startServerProcess(environment, { processes: PROCESSES, node: GC_OPTIONS })
  try {
    return await work({
      redis,
      postgres,
      redisEngine,
      context,
      server,
      placeCodes: async (count) => {
        const placed: PlacedCode[] = []
        let next = 0
        const place = async () => {
          while (next < count) {
            const application = applications[next % APPLICATIONS]
            next += 1
            if (!application) continue
            const device = new Device(server.address, application)
            const calledAt = performance.now()
            const code = await device.code()
            const form = `${new URLSearchParams({ ...device.credentials, device_code: code.device_code })}`
            placed.push({ recorded: codes.add(device, code, calledAt), form })
          }
        }
        await Promise.all(Array.from({ length: CODES_AT_ONCE }, place))
        return placed
      },
      users,
      decide: (user, { recorded }) => decide(context, user, recorded),
      judgeHistories: () => codes.judge('at-once'),
      pids: () => runningPids(server),
      memoryMb: async (collected) => {
        if (collected) await Promise.all(debuggersOf(server.log()).map((address) => evaluateWithin(address, 'gc()')))
        return runningPids(server).reduce((sum, pid) => sum + residentMb(pid), 0)
      },
      heldPolls: () => readHeldPolls(server),
    })
  } finally {
    await server.kill('SIGTERM')
    await closeContext(context)
    redisEngine.stop('SIGKILL')
    postgres.remove()
    removeFolder(folder)
  }
}

const runningPids = (server: ServerProcess) => listeningPids(server).filter(isRunning)

const RETRY_MS = 200

async function decide(context: Context, user: MadeUser, code: RecordedCode): Promise<void> {
  for (let failed = false; ; ) {
    try {
      const entered = await code.enter(context, user)
      if (entered.outcome === 'claimed') {
        const { outcome } = await code.grant(context, user, entered.code)
        if (outcome === 'granted' || failed) return
        throw new Error(`the decision was ${outcome}`)
      }
      // The grant before the outage was committed, though nobody was told.
      if (failed) return
      throw new Error(`the code was ${entered.outcome}`)
    } catch (error) {
      if (error instanceof Error && /^the (decision|code) was/.test(error.message)) throw error
      failed = true
      await sleep(RETRY_MS)
    }
  }
}

async function readHeldPolls(server: ServerProcess): Promise<number> {
  const [, address = ''] = /"event":"metrics_listening","address":"([^"]+)"/.exec(server.log()) ?? []
  const text = await (await fetch(`${address}/metrics`)).text()
  return Number(/^latchkey_held_polls (\d+)$/m.exec(text)?.[1])
}
