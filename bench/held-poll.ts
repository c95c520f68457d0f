/**
 * Held polls (`Prefer: wait`), against a bare node:http server that gives the same reply after the same time. Thousands of
 * devices wait at both servers at the same time, each on a connection of its own.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { engineUrl } from '../server/test/rig/engines/database.ts'
import { startServerProcess } from '../server/test/rig/process/server-process.ts'
import { startTestService, type TestService } from '../server/test/rig/service.ts'
import { checkOf, cpuSeconds, formOf, postingScript, replyOf, startBareServer, summarise } from './against-bare.ts'
import type { Benchmark, Measured } from './judge.ts'
import { redisPid } from './machine.ts'
import { POLLING, requestForms } from './poll.ts'
import { driveSideBySide } from './side-by-side.ts'

const DEVICES = 2_000

/** Each code is polled at most every other wait: none is early. */
const CODES = 2 * DEVICES

/** The shortest wait and interval that there are: more polls per second, each of which costs the same. */
const PREFER = { prefer: 'wait=1' }
const POLL_INTERVAL = '1'

/** A wait of one second ends with a tick of the timer wheel, 1.0 to 1.25 seconds later. */
const HELD_MS = 1_125

const WINDOWS = { count: 20, seconds: 2, openingSeconds: 8 }

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
    const ours = { address: server.address, cpuSeconds: () => cpuSeconds(pids), script }
    const driven = await driveSideBySide(ours, { ...bare, script }, POLLING, WINDOWS, DEVICES)
    const round = (perSecond: number, cpu: number, seconds: number) => {
      return { perSecond, requests: Math.round(perSecond * seconds), cpuSeconds: cpu }
    }
    const compared = summarise(
      driven.windows.map(({ ours, reference, seconds }) => ({
        ours: round(driven.oursPerSecond, ours, seconds),
        reference: round(driven.referencePerSecond, reference, seconds),
      })),
    )
    return { devices: DEVICES, ...compared, ratio: compared.ratio_by_cpu, missed: [] }
  } finally {
    bare?.stop()
    rmSync(folder, { recursive: true, force: true })
    await server.kill('SIGTERM')
  }
}
