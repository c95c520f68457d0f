/**
 * Every page of the web interface, of accounts, of operators, of the dialog and of the base host, with one server process: pages
 * per second against a bare node:http server that sends the page of median length again and again.
 *
 * And time to the first byte with fifty concurrent users, each of whom views a page for half a second and opens any
 * other. The goal is 50 ms at the 99th percentile, without hashing passwords, and without what the bare server takes meanwhile.
 */
import { randomInt } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ServerProcess, startServerProcess } from '../server/test/rig/process/server-process.ts'
import { type Northwind, startNorthwind } from '../server/test/rig/scenes/northwind.ts'
import { alternate, CONNECTIONS, cpuSeconds, replyOf, startBareServer } from './against-bare.ts'
import type { Benchmark, Measured } from './judge.ts'
import { openPages, type Visited, visitPage } from './visited-pages.ts'

const PEOPLE = 50
const SECONDS = 30
/** From zero to twice as much, half a second on average: faster than anybody reads. */
const LOOK_MS = 500
const MAX_TTFB_P99_MS = 50

export const benchPages: Benchmark = async (run) => {
  const northwind = await startNorthwind()
  try {
    await run({ measure: () => measure(northwind), database: northwind.service.database })
  } finally {
    await northwind.stop()
  }
}

async function measure(northwind: Northwind): Promise<Measured> {
  const { config, database } = northwind.service
  // The Host header selects the account, so the server's port may differ from that of PUBLIC_URL.
  const server = await startServerProcess({
    DATABASE_URL: database.url,
    PUBLIC_URL: config.publicUrl,
    OPERATOR_ACCOUNT: 'operators',
  })
  let bare: Awaited<ReturnType<typeof startBareServer>> | null = null
  try {
    const pages = await openPages(northwind)
    const { typical, statuses } = await look(server, pages)
    const reply = await replyOf(server.address, typical.path, { method: 'GET', headers: headersOf(typical) })
    const load = {
      path: '',
      requests: scriptOf(pages),
      expected: [...statuses].map((status) => `status == ${status}`).join(' or '),
      refused: 'some',
    } as const
    bare = await startBareServer(reply)
    const ours = { address: server.address, cpuSeconds: () => cpuSeconds([server.pid]) }
    const compared = alternate(ours, bare, load)
    const times = await visit(server.address, bare.address, pages)
    return { connections: CONNECTIONS, pages: pages.length, ...compared, ...firstBytes(times) }
  } finally {
    bare?.stop()
    await server.kill('SIGTERM')
  }
}

function headersOf({ host, cookies }: Visited) {
  return { accept: 'text/html', host, cookie: cookies[randomInt(cookies.length)] ?? '' }
}

/** Each page once. */
async function look(server: ServerProcess, pages: readonly Visited[]) {
  const seen: { readonly page: Visited; readonly status: number; readonly length: number }[] = []
  for (const page of pages) {
    seen.push({ page, ...(await visitPage(server.address, page)) })
  }
  const [middle] = seen.sort((a, b) => a.length - b.length).slice(Math.floor(seen.length / 2))
  if (!middle) throw new Error('there are no pages')
  return { typical: middle.page, statuses: new Set(seen.map(({ status }) => status)) }
}

/** Each request is for the next page. */
function scriptOf(pages: readonly Visited[]): string {
  const row = (page: Visited) => {
    const { host, cookie } = headersOf(page)
    return `{path=${JSON.stringify(page.path)},host=${JSON.stringify(host)},cookie=${JSON.stringify(cookie)}}`
  }
  return `local pages = {${pages.map(row).join(',\n')}}
local requests = {}
local at = 0
function init()
  for index, page in ipairs(pages) do
    requests[index] = wrk.format('GET', page.path, { Accept = 'text/html', Host = page.host, Cookie = page.cookie })
  end
end
function request() at = at % #requests + 1 return requests[at] end
`
}

type Times = { readonly ours: ReadonlyMap<string, number[]>; readonly bare: number[] }

/** Every other page comes from the bare server, which shows the share of the machine. */
async function visit(address: string, bareAddress: string, pages: readonly Visited[]): Promise<Times> {
  const agent = new Agent({ keepAlive: true, maxSockets: PEOPLE })
  const times = { ours: new Map<string, number[]>(pages.map(({ name }) => [name, []])), bare: [] as number[] }
  const end = performance.now() + SECONDS * 1000
  const person = async () => {
    while (performance.now() < end) {
      for (const from of [address, bareAddress]) {
        await sleep(randomInt(2 * LOOK_MS))
        const page = pages[randomInt(pages.length)] as Visited
        const took = await firstByte(agent, from, page)
        if (from === address) times.ours.get(page.name)?.push(took)
        else times.bare.push(took)
      }
    }
  }
  await Promise.all(Array.from({ length: PEOPLE }, person))
  agent.destroy()
  return times
}

function firstByte(agent: Agent, address: string, page: Visited): Promise<number> {
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const outgoing = request(address + page.path, { agent, headers: headersOf(page) }, (response) => {
      const took = performance.now() - begun
      const { statusCode = 0 } = response
      if ((statusCode >= 300 && statusCode < 400) || statusCode >= 500) {
        reject(new Error(`the page ${page.name} was answered ${statusCode}`))
      }
      response.resume().on('end', () => resolve(took))
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}

function firstBytes({ ours, bare }: Times) {
  const lines = Array.from(ours, ([name, each]) => ({ name, ...percentiles(each) })).sort((a, b) => b.p99 - a.p99)
  for (const { name, p50, p99, count } of lines) {
    console.log(
      `${name.padEnd(32)} p50 ${p50.toFixed(1).padStart(5)} ms  p99 ${p99.toFixed(1).padStart(5)} ms  of ${count}`,
    )
  }
  const [all, machine] = [percentiles([...ours.values()].flat()), percentiles(bare)]
  const added = all.p99 - machine.p99
  return {
    people: PEOPLE,
    visits: all.count,
    ttfb_p50_ms: Number(all.p50.toFixed(1)),
    ttfb_p99_ms: Number(all.p99.toFixed(1)),
    bare_ttfb_p99_ms: Number(machine.p99.toFixed(1)),
    worst_page: lines[0]?.name,
    missed: added < MAX_TTFB_P99_MS ? [] : [`the 99th percentile to the first byte is ${added.toFixed(1)} ms more`],
  }
}

function percentiles(times: readonly number[]): { p50: number; p99: number; count: number } {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { p50: at(0.5), p99: at(0.99), count: sorted.length }
}
