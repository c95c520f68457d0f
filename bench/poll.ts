/**
 * Pending polls per second through the real server with the Redis gate, against a bare node:http server with a fixed
 * reply that reads the same form. Both driven by wrk, alternating in one run: only the ratio carries to another machine.
 *
 *   npm run bench:poll
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { engineUrl } from '../server/test/rig/database.ts'
import { Device } from '../server/test/rig/device.ts'
import { startServerProcess } from '../server/test/rig/server-process.ts'
import { startTestService } from '../server/test/rig/service.ts'
import { startEngines } from '../tools/engines.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 21)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 1)
const CONNECTIONS = 64
const CODES = 5_000

/** Every answer must be that of a pending code. */
const CHECK = `unexpected = 0
local threads = {}
function response(status, headers, body)
  if status ~= 400 or not (body:find('auth_pending') or body:find('slow_down')) then unexpected = unexpected + 1 end
end
function setup(thread) threads[#threads + 1] = thread end
function done() io.write('unexpected=' .. tostring(threads[1]:get('unexpected')) .. '\\n') end
`

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl

const service = await startTestService({}, { listen: false })
const environment = { DATABASE_URL: service.database.url, REDIS_URL: engineUrl('REDIS_URL') }
const server = await startServerProcess(environment)
const bare = spawn(process.execPath, [join(import.meta.dirname, 'bare-server.ts')], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const folder = mkdtempSync(join(tmpdir(), 'latchkey-bench-'))
try {
  const bareAddress = String((await once(bare.stdout, 'data'))[0]).trim()
  const bodies = await requestCodes()
  const [checking, plain] = [join(folder, 'checking.lua'), join(folder, 'plain.lua')]
  writeFileSync(checking, wrkScript(bodies) + CHECK)
  writeFileSync(plain, wrkScript(bodies))

  // Warms both up, and looks at every answer. Looking costs wrk more than polling, so the measured rounds only count.
  for (const address of [bareAddress, server.address]) wrk(address, checking)
  const runs = Array.from({ length: ROUNDS }, () => ({
    bare: wrk(bareAddress, plain),
    poll: wrk(server.address, plain),
  }))
  console.log(
    JSON.stringify({
      bench: 'poll',
      connections: CONNECTIONS,
      rounds: ROUNDS,
      bare_per_second: Math.round(median(runs.map((run) => run.bare))),
      poll_per_second: Math.round(median(runs.map((run) => run.poll))),
      ratio: Number(median(runs.map((run) => run.poll / run.bare)).toFixed(3)),
    }),
  )
} finally {
  bare.kill()
  await server.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
  await service.stop()
}

async function requestCodes(): Promise<string[]> {
  const device = new Device(server.address, service.application)
  const made: string[] = []
  // The server learns of a new application within a second.
  while ((await device.request()).status !== 200) await new Promise((resolve) => setTimeout(resolve, 100))
  while (made.length < CODES) {
    const codes = await Promise.all(Array.from({ length: 50 }, () => device.code()))
    for (const { device_code } of codes) made.push(`${new URLSearchParams({ ...device.credentials, device_code })}`)
  }
  return made
}

function wrk(address: string, script: string): number {
  const url = `${address}/auth/oauth/device/polling`
  const output = execFileSync('wrk', ['-t1', `-c${CONNECTIONS}`, `-d${SECONDS}s`, '-s', script, url], {
    encoding: 'utf8',
  })
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1])
  const requests = Number(/(\d+) requests in/.exec(output)?.[1])
  const refusals = Number(/Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1])
  const unexpected = Number(/unexpected=(\d+)/.exec(output)?.[1] ?? 0)
  if (!(perSecond > 0) || refusals !== requests || unexpected > 0 || output.includes('Socket errors')) {
    throw new Error(`wrk: ${output}`)
  }
  return perSecond
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

/** Each request polls the next code. */
function wrkScript(bodies: readonly string[]): string {
  return `local bodies = {${bodies.map((body) => `'${body}'`).join(',')}}
local at = 0
wrk.method = 'POST'
wrk.headers['content-type'] = 'application/x-www-form-urlencoded'
function request() at = at % #bodies + 1 return wrk.format(nil, nil, nil, bodies[at]) end
`
}
