/**
 * npm run verify -- failover: three processes under load on a PostgreSQL with Patroni, one synchronous and one asynchronous standby,
 * whose servers are killed, frozen, cut off and switched. No code is answered twice, no credential that a device was given is lost,
 * and every process goes on by itself. docs/operations/high-availability.md.
 *
 * Without arguments it stops after 12 minutes. `--full`: 300 events; ends after 140 minutes and continues at the next call with the
 * same seed. `--seed N`, `--events N`.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { closeContext, createContext } from '../../../src/app.ts'
import { MAX_HINT_MS } from '../../../src/gate/gate.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { Device } from '../../rig/device.ts'
import {
  isWhole,
  missingPackages,
  type PatroniCluster,
  startPatroniCluster,
  untilTrue,
} from '../../rig/engines/patroni-cluster.ts'
import { runStatements } from '../../rig/engines/postgres-programs.ts'
import { type MadeApplication, makeAccount, makeApplication, makeConfig, makeUser } from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startLoad } from '../load.ts'
import { EVENTS } from './failover-events.ts'

const { values } = parseArgs({
  options: { full: { type: 'boolean' }, seed: { type: 'string', default: '1' }, events: { type: 'string' } },
})
const seed = Number(values.seed)
const wanted = Number(values.events ?? 300)
const until = performance.now() + (values.full ? 140 : 12) * 60_000

/** Faults of docs/reliability.md. */
const PROVES = ['F06', 'F07', 'F08', 'F09']

/** Events per part: after each, the histories of the load are checked and the progress is saved. */
const EVENTS_AT_ONCE = 25

/** What this and earlier calls with the same seed saw. */
type Progress = {
  events: number
  recoveriesMs: number[]
  double: number
  lost: number
  restarted: number
  manual: number
}
const file = new URL(`../../../../.verify/failover-${seed}.json`, import.meta.url)
const fresh: Progress = { events: 0, recoveriesMs: [], double: 0, lost: 0, restarted: 0, manual: 0 }
const progress: Progress = values.full && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : fresh

const missing = missingPackages()
if (missing.length > 0 || process.getuid?.() !== 0) {
  console.error(
    `failover: needs root and the Debian packages patroni etcd-server haproxy nftables; missing: ${missing.join(' ') || 'root'}`,
  )
  process.exit(2)
}

/** The numbers of an event, from 0 to 1, by its seed: mulberry32. */
function randomOf(index: number): readonly [kind: number, course: number] {
  let state = (seed * 0x9e3779b1 + index * 0x85ebca6b) >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return [next(), next()]
}

/** Longest outage: Patroni's ttl, a promotion, and the way back. */
const OUTAGE_MS = 90_000
const WHOLE_WITHIN_MS = 180_000

/** From the end of the event, or later from the first primary, until every process accepts a write. */
async function recovered(cluster: PatroniCluster, servers: readonly ServerProcess[], application: MadeApplication) {
  await untilTrue(async () => (await cluster.leader()) !== null, OUTAGE_MS, 'primary')
  const begun = performance.now()
  const accepts = async ({ address }: ServerProcess) =>
    (await new Device(address, application).request()).status === 200
  await Promise.all(servers.map((server) => untilTrue(() => accepts(server), OUTAGE_MS, 'code')))
  return performance.now() - begun
}

const cluster = await startPatroniCluster()
try {
  await runStatements(cluster.url.replace(/latchkey$/, 'postgres'), 'create database latchkey')
  await migrate(cluster.url)
  const environment = { DATABASE_URL: cluster.url, POLL_INTERVAL: '1', LOG_LEVEL: 'silent' }
  const config = makeConfig(environment)
  const context = await createContext(config)
  const account = await makeAccount(context.db)
  const application = await makeApplication(context.db, config, account.slug)
  const user = await makeUser(context.db, account.slug)
  const servers = await Promise.all([1, 2, 3].map(() => startServerProcess({ ...environment, LOG_LEVEL: 'info' })))
  let ended = 0
  for (const server of servers) void server.exited.then(() => (ended += 1))
  const addresses = servers.map(({ address }) => address)
  const kinds = Object.keys(EVENTS)

  /** One event, until every process accepts writes and the cluster is whole again. Returns the problems that it saw. */
  async function pass(index: number): Promise<readonly string[]> {
    // Every kind once, then kinds by the seed.
    const [kind, course] = randomOf(index)
    const name = index < kinds.length ? kinds[index] : kinds[Math.floor(kind * kinds.length)]
    await untilTrue(async () => (await cluster.leader()) !== null, WHOLE_WITHIN_MS, 'primary')
    const leader = await cluster.leader()
    const event = EVENTS[name ?? '']
    if (!leader || !event) throw new Error('no primary')
    try {
      const problems = await event(cluster, leader, course)
      const recoveryMs = await recovered(cluster, servers, application)
      progress.recoveriesMs.push(Math.round(recoveryMs))
      await untilTrue(() => isWhole(cluster), WHOLE_WITHIN_MS, 'whole cluster')
      console.log(`failover: ${index} ${name} recovery_ms=${Math.round(recoveryMs)}`)
      return problems
    } catch (error) {
      progress.manual += 1
      console.log(`failover: ${index} ${name}: ${(error as Error).message}`)
      for (const machine of cluster.machines) {
        machine.thaw()
        machine.start()
      }
      await untilTrue(() => isWhole(cluster), WHOLE_WITHIN_MS, 'whole cluster')
      return []
    }
  }

  const totals: Record<string, number> = {}
  while (progress.events < wanted && performance.now() < until) {
    const load = startLoad({
      addresses,
      application,
      context,
      user,
      devices: 12,
      pendingMayBeOldMs: OUTAGE_MS + MAX_HINT_MS,
      heldAndRefreshed: true,
    })
    const problems: string[] = []
    const end = Math.min(wanted, progress.events + EVENTS_AT_ONCE)
    for (; progress.events < end && performance.now() < until; progress.events += 1) {
      problems.push(...(await pass(progress.events)))
      await sleep(1_000)
    }
    problems.push(...(await load.finish()))
    const refused = await load.refusedCredentials()
    for (const problem of [...problems, ...refused].slice(0, 20)) console.error(`failover: ${problem}`)
    progress.double += problems.length
    progress.lost += refused.length
    progress.restarted += ended
    ended = 0
    for (const [name, count] of Object.entries(load.totals())) totals[name] = (totals[name] ?? 0) + count
    if (values.full) {
      mkdirSync(new URL('.', file), { recursive: true })
      writeFileSync(file, JSON.stringify(progress))
    }
  }
  await Promise.all(servers.map((server) => server.kill('SIGTERM')))
  await closeContext(context)
  const sorted = progress.recoveriesMs.toSorted((a, b) => a - b)
  const at = (share: number) => `${((sorted[Math.ceil(share * sorted.length) - 1] ?? 0) / 1000).toFixed(1)}s`
  const { codesRequested, granted, rejected, collected, refreshed } = totals
  console.log(
    `failover: codes=${codesRequested} granted=${granted} rejected=${rejected} collected=${collected} refreshed=${refreshed}`,
  )
  console.log(
    `failover: proves=${PROVES.join(',')} seed=${seed} events=${progress.events} double=${progress.double} lost_acknowledged=${progress.lost} recovery_p50=${at(0.5)} recovery_p99=${at(0.99)} (after Patroni has a leader) restarted=${progress.restarted} manual=${progress.manual}`,
  )
  const failed = progress.double + progress.lost + progress.restarted + progress.manual
  process.exitCode = failed > 0 || progress.events === 0 ? 1 : 0
} finally {
  await cluster.remove()
}
