/**
 * `latchkey serve --processes`: SIGHUPs under load, then the processor time of a poll in one process and in two. Prints
 * one JSON line for each, and fails if a connection ended without an answer or a poll of two processes costs more than
 * 10 % above that of one.
 *
 *   npm run verify -- processes [--sighups 20] [--rounds 15]
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { cpuSeconds, drive, postingScript, type Round } from '../../../../bench/against-bare.ts'
import { startEngines } from '../../../../tools/engines.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService } from '../../rig/service.ts'
import { pollWithoutEnd } from './poll-without-end.ts'

const { values } = parseArgs({
  options: { sighups: { type: 'string', default: '20' }, rounds: { type: 'string', default: '15' } },
})
const PATH = '/auth/oauth/device/polling'
const MAX_COST = 1.1
const WARM_UPS = 3

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl

const service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') })
const environment = {
  DATABASE_URL: service.database.url,
  REDIS_URL: engineUrl('REDIS_URL'),
  DRAIN_SECONDS: '1',
  OVERLOAD_DELAY: '0',
}
const forms = await Promise.all(
  Array.from({ length: 64 }, async () => {
    const { device_code } = await service.device().code()
    return `${new URLSearchParams({ ...service.device().credentials, device_code })}`
  }),
)
try {
  if (!(await replaceUnderLoad(Number(values.sighups)))) process.exitCode = 1
  if (!(await compareCost(Number(values.rounds)))) process.exitCode = 1
} finally {
  await service.stop()
}

async function replaceUnderLoad(sighups: number): Promise<boolean> {
  const server = await startServerProcess(environment, { processes: 2 })
  const load = pollWithoutEnd(server.address, forms)
  for (let round = 1; round <= sighups; round += 1) {
    process.kill(server.pid, 'SIGHUP')
    while (server.log().split('"event":"replaced"').length - 1 < round) await sleep(50)
  }
  await load.end()
  await server.kill('SIGTERM')
  console.log(JSON.stringify({ check: 'sighup', sighups, ...load.counts }))
  return load.counts.unanswered === 0 && load.counts.answered > 0
}

async function compareCost(rounds: number): Promise<boolean> {
  const one = await startServerProcess(environment)
  const two = await startServerProcess(environment, { processes: 2 })
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-processes-'))
  const script = join(folder, 'polls.lua')
  writeFileSync(script, postingScript(forms))
  const measure = ({ address, pid }: ServerProcess) => {
    const pids = treeOf(pid)
    return drive({ address, cpuSeconds: () => cpuSeconds(pids) }, { path: PATH, refused: 'all' }, script)
  }
  const measured: { readonly one: Round; readonly two: Round }[] = []
  for (let round = -WARM_UPS; round < rounds; round += 1) {
    const both = { one: measure(one), two: measure(two) }
    if (round >= 0) measured.push(both)
  }
  rmSync(folder, { recursive: true })
  await Promise.all([one.kill('SIGTERM'), two.kill('SIGTERM')])
  const cost = { one: costOf(measured.map((each) => each.one)), two: costOf(measured.map((each) => each.two)) }
  const ratio = Math.round((cost.two.cpu_us_per_poll / cost.one.cpu_us_per_poll) * 1000) / 1000
  console.log(JSON.stringify({ check: 'cost', rounds, one_process: cost.one, two_processes: cost.two, ratio }))
  return ratio <= MAX_COST
}

function costOf(rounds: readonly Round[]) {
  const total = (value: (round: Round) => number) => rounds.reduce((sum, round) => sum + value(round), 0)
  const cpuUs = (total(({ cpuSeconds }) => cpuSeconds) / total(({ requests }) => requests)) * 1e6
  return {
    cpu_us_per_poll: Math.round(cpuUs * 10) / 10,
    polls_per_second: Math.round(total(({ perSecond }) => perSecond) / rounds.length),
  }
}

/** A process and its children. */
function treeOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(treeOf)]
}
