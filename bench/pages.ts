/**
 * Time to the first byte of every page, with one server process and fifty people at once, each of whom looks at a page for
 * half a second and goes on to any other. The goal is 50 ms at the 99th percentile, apart from hashing passwords.
 *
 * Then the same fifty without looking, as fast as they can: how many pages a second one process has to give.
 *
 *   npm run bench:pages
 */
import { randomInt, randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { SESSION } from '../server/src/http/account/cookies.ts'
import { sealSession } from '../server/src/secrets/web-texts.ts'
import { insertSession } from '../server/src/store/sessions.ts'
import { everyDoorPage } from '../server/test/rig/every-page.ts'
import { type Northwind, startNorthwind } from '../server/test/rig/northwind.ts'
import { startServerProcess } from '../server/test/rig/server-process.ts'
import { startEngines } from '../tools/engines.ts'

const USERS = 50
const SECONDS = Number(process.env.BENCH_SECONDS ?? 60)
/** From nothing to twice as much, half a second on average: faster than anybody reads. */
const LOOK_MS = 500
const GOAL_MS = 50

type Visited = { readonly name: string; readonly path: string; readonly cookies: readonly string[] }

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl

const northwind = await startNorthwind()
const port = randomInt(20_000, 32_000)
const server = await startServerProcess({
  DATABASE_URL: northwind.service.database.url,
  PORT: String(port),
  PUBLIC_URL: `http://localhost:${port}`,
})
try {
  const pages = await openPages()
  await visit(pages, 3, 0)
  const looked = await visit(pages, SECONDS, LOOK_MS)
  const hurried = await visit(pages, Math.min(10, SECONDS), 0)

  const lines = Array.from(looked.times, ([name, times]) => ({ name, ...percentiles(times) }))
  for (const { name, p50, p99, count } of lines.sort((a, b) => b.p99 - a.p99)) {
    console.log(
      `${name.padEnd(28)} p50 ${p50.toFixed(1).padStart(5)} ms  p99 ${p99.toFixed(1).padStart(5)} ms  of ${count}`,
    )
  }
  const all = percentiles([...looked.times.values()].flat())
  const worst = lines[0]
  console.log(
    JSON.stringify({
      bench: 'pages',
      users: USERS,
      pages: lines.length,
      ttfb_p99_ms: round(all.p99),
      worst_page: worst?.name,
      worst_page_p99_ms: round(worst?.p99 ?? 0),
      goal_ms: GOAL_MS,
      pages_per_second_at_most: Math.round(hurried.perSecond),
    }),
  )
} finally {
  await server.kill('SIGTERM')
  await northwind.stop()
}

/** Each user of Northwind is signed in with a few browsers, as people are; the fifty share them. */
async function openPages(): Promise<readonly Visited[]> {
  const sessions = new Map<string, readonly string[]>([['nobody', ['']]])
  for (const as of ['ann', 'ben', 'ida'] as const) sessions.set(as, await sessionsOf(northwind, northwind[as].id))
  // Those of the dialog belong to the browser in which it began, and some of them to the base host.
  const pages = (await everyDoorPage(northwind)).filter(({ path, popup }) => path.startsWith('/') && !popup)
  return pages.map(({ name, path, as }) => ({ name, path, cookies: sessions.get(as) ?? [''] }))
}

async function sessionsOf({ service }: Northwind, userId: string): Promise<readonly string[]> {
  const { context, config } = service
  const [user] = await service.database.query<{ account_id: string; slug: string }>(
    'select u.account_id, a.slug from users u join accounts a on a.id = u.account_id where u.id = $1',
    [userId],
  )
  if (!user) throw new Error('there is no such user')
  const made = Array.from({ length: 3 }, async () => {
    const id = randomUUID()
    const session = { id, accountId: user.account_id, userId, lifetimeMs: 3_600_000, address: null, agent: null }
    await context.db.transaction((tx) => insertSession(tx, session))
    return `${SESSION}=${sealSession(config.keys, id, user.slug)}`
  })
  return Promise.all(made)
}

async function visit(
  pages: readonly Visited[],
  seconds: number,
  lookMs: number,
): Promise<{ times: Map<string, number[]>; perSecond: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: USERS })
  const times = new Map<string, number[]>(pages.map(({ name }) => [name, []]))
  const begun = performance.now()
  let count = 0
  const user = async () => {
    while (performance.now() - begun < seconds * 1000) {
      if (lookMs > 0) await sleep(randomInt(2 * lookMs))
      const { name, path, cookies } = pages[randomInt(pages.length)] as Visited
      times.get(name)?.push(await firstByte(agent, path, cookies[randomInt(cookies.length)] ?? ''))
      count += 1
    }
  }
  await Promise.all(Array.from({ length: USERS }, user))
  const perSecond = (count * 1000) / (performance.now() - begun)
  agent.destroy()
  return { times, perSecond }
}

function firstByte(agent: Agent, path: string, cookie: string): Promise<number> {
  const headers = { host: `${northwind.slug}.localhost:${port}`, ...(cookie === '' ? {} : { cookie }) }
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, agent, headers }, (response) => {
      const took = performance.now() - begun
      // Nothing is measured that is not the page: a redirect to the sign-in would be quick, too.
      const shown = response.statusCode === 200 || (response.statusCode === 404 && path.startsWith('/link'))
      if (!shown) reject(new Error(`${path} answered ${response.statusCode}`))
      response.resume()
      response.on('end', () => resolve(took))
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}

function percentiles(times: readonly number[]): { p50: number; p99: number; count: number } {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { p50: at(0.5), p99: at(0.99), count: sorted.length }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
