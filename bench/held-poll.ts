/**
 * Held polls (`Prefer: wait`), against a bare node:http server that gives the same reply after the same time. Thousands of
 * devices wait at both servers at the same time, each on a connection of its own. The wait determines how many polls are answered per
 * second, so only their processor time is compared, window after window.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { engineUrl } from '../server/test/rig/engines/database.ts'
import { startServerProcess } from '../server/test/rig/process/server-process.ts'
import { startTestService, type TestService } from '../server/test/rig/service.ts'
import {
  checkOf,
  cpuSeconds,
  type Driven,
  examine,
  expectRight,
  figure,
  formOf,
  postingScript,
  replyOf,
  startBareServer,
  summarise,
  wrkArguments,
} from './against-bare.ts'
import type { Benchmark, Measured } from './judge.ts'
import { redisPid } from './machine.ts'
import { POLLING, requestForms } from './poll.ts'

const DEVICES = 2_000

/** Each code is polled at most every other wait: none is early. */
const CODES = 2 * DEVICES

/** The shortest wait and interval that there are: more polls per second, each of which costs the same. */
const PREFER = { prefer: 'wait=1' }
const POLL_INTERVAL = '1'

/** A wait of one second ends with a tick of the timer wheel, 1.0 to 1.25 seconds later. */
const HELD_MS = 1_125

const WINDOWS = 21
const WINDOW_SECONDS = 2

/** Until all connections are open. */
const OPENING_SECONDS = 8

export const benchHeldPoll: Benchmark = async (run) => {
  const service = await startTestService({ POLL_INTERVAL }, { listen: false })
  try {
    await run({ measure: () => measure(service), database: service.database })
  } finally {
    await service.stop()
  }
}

async function measure({ database, application }: TestService): Promise<Measured> {
  const redis = { REDIS_URL: engineUrl('REDIS_URL') }
  const server = await startServerProcess({ DATABASE_URL: database.url, POLL_INTERVAL, ...redis })
  const pids = [server.pid, await redisPid()]
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-bench-'))
  let bare: Awaited<ReturnType<typeof startBareServer>> | null = null
  try {
    const forms = await requestForms(server.address, application, CODES)
    const sample = formOf(forms[0] ?? '')
    const reply = await replyOf(server.address, POLLING, { ...sample, headers: { ...sample.headers, ...PREFER } })
    bare = await startBareServer({ ...reply, afterMs: HELD_MS })
    const script = join(folder, 'held.lua')
    const expected = "status == 400 and body:find('auth_pending') and headers['preference-applied']"
    writeFileSync(script, postingScript(forms, PREFER) + checkOf(expected))
    const ours = { address: server.address, cpuSeconds: () => cpuSeconds(pids) }
    const compared = await besideEachOther(ours, bare, script)
    return { devices: DEVICES, ...compared, ratio: compared.ratio_by_cpu, missed: [] }
  } finally {
    bare?.stop()
    rmSync(folder, { recursive: true, force: true })
    await server.kill('SIGTERM')
  }
}

async function besideEachOther(ours: Driven, bare: Driven, script: string) {
  const seconds = OPENING_SECONDS + WINDOWS * WINDOW_SECONDS
  const answered = Promise.all([ours, bare].map(({ address }) => answersPerSecond(address, script, seconds)))
  await sleep(OPENING_SECONDS * 1_000)
  const windows: { ours: number; bare: number; seconds: number }[] = []
  while (windows.length < WINDOWS - 1) {
    const before = { ours: ours.cpuSeconds(), bare: bare.cpuSeconds(), at: performance.now() }
    await sleep(WINDOW_SECONDS * 1_000)
    windows.push({
      ours: ours.cpuSeconds() - before.ours,
      bare: bare.cpuSeconds() - before.bare,
      seconds: (performance.now() - before.at) / 1_000,
    })
  }
  const [oursPerSecond = 0, barePerSecond = 0] = await answered
  const round = (perSecond: number, cpu: number, length: number) => {
    return { perSecond, requests: Math.round(perSecond * length), cpuSeconds: cpu }
  }
  return summarise(
    windows.map((window) => ({
      ours: round(oursPerSecond, window.ours, window.seconds),
      reference: round(barePerSecond, window.bare, window.seconds),
    })),
  )
}

async function answersPerSecond(address: string, script: string, seconds: number): Promise<number> {
  const child = spawn('wrk', wrkArguments(address + POLLING, script, seconds, DEVICES))
  const output = examine((await child.stdout.setEncoding('utf8').toArray()).join(''))
  expectRight(output)
  return figure(output, /Requests\/sec:\s+([\d.]+)/)
}
