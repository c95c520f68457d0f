/**
 * npm run verify -- outages: Redis killed and back, Redis hung, PostgreSQL stopped hard and back, PostgreSQL hung, all under
 * load on two server processes. Every poll gets one of the six outcomes, no final outcome is wrong or lost, code requests
 * answer 503 with Retry-After, and everything recovers by itself.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRedis } from '../../../tools/engine-processes.ts'
import { freePort } from '../../../tools/free-port.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { closeContext, createContext } from '../../src/app.ts'
import { startOwnPostgres } from '../rig/engines/own-postgres.ts'
import { makeAccount, makeApplication, makeConfig, makeUser } from '../rig/make.ts'
import { startServerProcess } from '../rig/process/server-process.ts'
import { type Load, startLoad } from './load.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-outages-'))
const redis = createRedis(folder, await freePort())
const postgres = await startOwnPostgres()
redis.start()
const environment = { DATABASE_URL: postgres.url, REDIS_URL: redis.url, POLL_INTERVAL: '1', LOG_LEVEL: 'silent' }
const config = makeConfig(environment)
const context = await createContext(config)
const account = await makeAccount(context.db)
const application = await makeApplication(context.db, config, account.slug)
const user = await makeUser(context.db, account.slug)
const servers = await Promise.all([1, 2].map(() => startServerProcess({ ...environment, LOG_LEVEL: 'info' })))

const signal = (engine: { pid(): number | null }, name: NodeJS.Signals) => {
  const pid = engine.pid()
  if (pid !== null) process.kill(pid, name)
}

/** Each fault lasts this long, then the engine is restored and given time to recover. */
const faults: { name: string; seconds: number; break(): void; remedy(): void; codesRefused: boolean }[] = [
  {
    name: 'redis killed',
    seconds: 4,
    break: () => redis.stop('SIGKILL'),
    remedy: () => redis.start(),
    codesRefused: false,
  },
  {
    name: 'redis hung',
    seconds: 4,
    break: () => signal(redis, 'SIGSTOP'),
    remedy: () => signal(redis, 'SIGCONT'),
    codesRefused: false,
  },
  {
    name: 'postgresql stopped',
    seconds: 5,
    break: () => postgres.stop(),
    remedy: () => postgres.start(),
    codesRefused: true,
  },
  {
    name: 'postgresql hung',
    seconds: 5,
    break: () => postgres.freeze(),
    remedy: () => postgres.thaw(),
    codesRefused: true,
  },
]

const problems: string[] = []
try {
  const load: Load = startLoad({ addresses: servers.map((server) => server.address), application, context, user })
  await sleep(3_000)
  for (const fault of faults) {
    const before = load.totals()
    fault.break()
    await sleep(fault.seconds * 1000)
    const during = load.totals()
    fault.remedy()
    await sleep(4_000)
    const after = load.totals()
    const polls = during.polls - before.polls
    const refused = during.codesRefused - before.codesRefused
    const recovered = after.codesRequested - during.codesRequested
    console.log(`outages: ${fault.name}: polls=${polls} codes_refused_503=${refused} codes_after_mending=${recovered}`)
    if (polls < fault.seconds * 5) problems.push(`${fault.name}: polls were hardly answered (${polls})`)
    if (fault.codesRefused && refused === 0) problems.push(`${fault.name}: no code request was refused with 503`)
    if (!fault.codesRefused && refused > 0) problems.push(`${fault.name}: ${refused} code requests were refused`)
    if (recovered === 0) problems.push(`${fault.name}: no code request succeeded afterwards`)
  }
  problems.push(...(await load.finish()))
  const { polls, codesRequested, granted, rejected, collected } = load.totals()
  for (const problem of problems.slice(0, 20)) console.error(`outages: ${problem}`)
  console.log(
    `outages: polls=${polls} codes=${codesRequested} granted=${granted} rejected=${rejected} collected=${collected} problems=${problems.length}`,
  )
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  await Promise.all(servers.map((server) => server.kill('SIGTERM')))
  await closeContext(context)
  postgres.remove()
  redis.stop('SIGTERM')
  removeFolder(folder)
}
