/**
 * Every page of the consoles on a database with 100,000 accounts and 1,000,000 grants: time to the first byte, one request after
 * the other, and the processor time of the server process. The goal is 50 ms at the 99th percentile of each page.
 *
 *   npm run bench -- pages --large
 */
import { once } from 'node:events'
import { cpus, loadavg } from 'node:os'
import { Worker } from 'node:worker_threads'
import { countDays } from '../server/src/flows/applications/days.ts'
import { sealBatch } from '../server/src/flows/audit/seal.ts'
import { startServerProcess } from '../server/test/rig/process/server-process.ts'
import { addCrowd, type CrowdSize } from '../server/test/rig/scenes/crowd.ts'
import { type Northwind, startNorthwind } from '../server/test/rig/scenes/northwind.ts'
import { cpuSeconds } from './against-bare.ts'
import { openPages, type Visited } from './visited-pages.ts'
import type { Visits } from './visitor.ts'

const LARGE: CrowdSize = {
  accounts: 100_000,
  applications: 5_000,
  ownApplications: 500,
  members: 10_000,
  grants: 1_000_000,
  events: 300_000,
  queue: 100,
}

/** Few batches: each of them sorts all that is not sealed yet. */
const SEALED_AT_ONCE = 20_000

const VISITS = 200
const WARM_UP_VISITS = 3
const MAX_P99_MS = 50

/** False if a page missed the goal. */
export async function benchLargeConsoles(): Promise<boolean> {
  const northwind = await startNorthwind()
  try {
    return await judgeConsoles(northwind)
  } finally {
    await northwind.stop()
  }
}

async function judgeConsoles(northwind: Northwind): Promise<boolean> {
  const { config, database } = northwind.service
  const pages = (await openPages(northwind)).filter(({ path }) => /^\/(account|developer|operator)([/?]|$)/.test(path))
  const begun = performance.now()
  await addCrowd(northwind, LARGE)
  await catchUp(northwind)
  console.log(`seeded in ${Math.round((performance.now() - begun) / 1000)} s: ${JSON.stringify(LARGE)}`)
  const server = await startServerProcess({
    DATABASE_URL: database.url,
    PUBLIC_URL: config.publicUrl,
    OPERATOR_ACCOUNT: 'operators',
    // Seeding takes minutes, and operators sign in before it.
    OPERATOR_SESSION_IDLE: '28800',
  })
  const visitor = new Worker(new URL('./visitor.ts', import.meta.url))
  try {
    const slow: string[] = []
    let measured = 0
    const visit = async (page: Visited, visits: number) => {
      visitor.postMessage({ address: server.address, page, visits } satisfies Visits)
      const [times] = (await once(visitor, 'message')) as [number[]]
      return times.toSorted((a, b) => a - b)
    }
    // A process that has just started compiles what it runs: not the time of a page.
    for (const page of pages) await visit(page, WARM_UP_VISITS)
    for (const page of [...pages, ...(await deeperPages(northwind, pages))]) {
      const before = cpuSeconds([server.pid])
      const times = await visit(page, VISITS)
      const at = (share: number) => times[Math.floor(VISITS * share)] ?? 0
      const [p50, p99] = [at(0.5), at(0.99)]
      const cpu = (1000 * (cpuSeconds([server.pid]) - before)) / VISITS
      const figures = `p50 ${p50.toFixed(1).padStart(6)} ms  p99 ${p99.toFixed(1).padStart(6)} ms  processor ${cpu.toFixed(1).padStart(5)} ms`
      console.log(`${page.name.padEnd(60)} ${figures}`)
      measured += 1
      if (p99 > MAX_P99_MS) slow.push(page.name)
    }
    console.log(
      `${measured} pages, ${VISITS} visits each, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}; above ${MAX_P99_MS} ms: ${slow.join(', ') || 'none'}`,
    )
    return slow.length === 0
  } finally {
    await visitor.terminate()
    await server.kill('SIGTERM')
  }
}

/** What a running service would have done by then: events are sealed and past days counted. */
async function catchUp({ service: { context, database } }: Northwind): Promise<void> {
  await database.query('vacuum analyze')
  const eventsToSeal = async () => {
    const [row] = await database.query<{ events: number }>(
      'select ((select count(*) from audit_events) - (select count(*) from audit_seals))::int as events',
    )
    return row?.events ?? 0
  }
  while ((await eventsToSeal()) > 0) await sealBatch(context, SEALED_AT_ONCE)
  await countDays(context)
  await database.query('vacuum analyze')
}

/** Other orders, filters and later pages of the tables, and the search. */
async function deeperPages({ service, ann }: Northwind, pages: readonly Visited[]): Promise<readonly Visited[]> {
  const { database } = service
  const [busiest] = await database.query<{ id: string }>(
    'select application_id as id from grants group by 1 order by count(*) desc limit 1',
  )
  const [middle] = await database.query<{ grant: string; account: string; request: string }>(
    `select (select id from grants where application_id = $1 order by created_at offset 1000 limit 1) as grant,
       (select slug from accounts order by lower(name) offset 50000 limit 1) as account,
       (select request_id from audit_events where request_id is not null offset 1000 limit 1) as request`,
    [busiest?.id],
  )
  const paths = {
    operator: [
      '/operator/accounts?sort=-created',
      `/operator/accounts?sort=name&after=${middle?.account}`,
      '/operator/accounts?q=amber',
      '/operator/accounts?q=zzz',
      '/operator/applications?q=q&sort=-created',
      '/operator/applications?status=suspended',
      `/operator/application?application=${busiest?.id}`,
      `/operator/grants?application=${busiest?.id}`,
      `/operator/grants?application=${busiest?.id}&after=${middle?.grant}`,
      `/operator/grants?application=${busiest?.id}&q=amber1@crowd-20`,
      `/operator/grants?application=${busiest?.id}&q=a`,
      `/operator/person?user=${ann.id}`,
      '/operator/search?q=a',
      '/operator/search?q=amber1%40crowd-2000',
      `/operator/search?q=${middle?.grant}`,
      `/operator/search?q=${middle?.request}`,
      '/operator/audit?person=ann%40northwind.example',
      `/operator/audit?request=${middle?.request}`,
    ],
    people: ['/account/people?q=am&sort=-created', '/account/people?sort=-email'],
    developer: ['/developer?sort=-created', '/developer?q=am'],
    'account-applications': ['/account/applications?sort=connected', '/account/applications?q=amber'],
  }
  return Object.entries(paths).flatMap(([like, each]) => {
    const known = pages.find(({ name }) => name === like)
    return known ? each.map((path) => ({ ...known, name: path.slice(0, 60), path })) : []
  })
}
