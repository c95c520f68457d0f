/** Our server and the bare one under the same load: rounds of wrk that alternate between them within one run. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { post } from '../server/test/rig/device.ts'
import { spawnTied } from '../server/test/rig/process/tied-process.ts'
import type { Reply } from './bare-server.ts'

const ROUNDS = 21
const ROUND_SECONDS = 2
const WARM_UP_SECONDS = 5
export const CONNECTIONS = 64

/** Clock ticks of Linux per second, on every machine. */
const CLOCK_TICKS = 100

export type Load = {
  readonly path: string
  /** Lua: the requests of wrk. */
  readonly requests: string
  /** Lua: an expression over `status`, `headers` and `body` that is true for every correct answer. */
  readonly expected: string
  /** How many of the correct answers have a status of 400 or more. */
  readonly refused: 'none' | 'some' | 'all'
}

export type Comparison = {
  readonly rounds: number
  /** The median of the rounds' ratios, each of two neighbours in time. */
  readonly ratio: number
  /** The same for the processor time per answer. */
  readonly ratio_by_cpu: number
  readonly bare_per_second: number
  readonly ours_per_second: number
  /** As wrk counted them, in the measured rounds. */
  readonly bare_requests: number
  readonly ours_requests: number
}

export type Round = { readonly perSecond: number; readonly requests: number; readonly cpuSeconds: number }

export type Driven = {
  readonly address: string
  /** All processes that take part in an answer. */
  readonly pids: readonly number[]
}

/** `reply`: its fixed answer. */
export async function startBareServer(reply: Reply): Promise<Driven & { stop(): void }> {
  const program = [join(import.meta.dirname, 'bare-server.ts'), JSON.stringify(reply)]
  const child = spawnTied('KILL', process.execPath, program, { stdio: ['ignore', 'pipe', 'inherit'] })
  if (!child.stdout) throw new Error('the bare server has no output')
  const address = String((await once(child.stdout, 'data'))[0]).trim()
  return { address, pids: [child.pid ?? 0], stop: () => void child.kill() }
}

export function alternate(ours: Driven, bare: Driven, load: Load): Comparison {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-bench-'))
  try {
    const [checking, plain] = [join(folder, 'checking.lua'), join(folder, 'plain.lua')]
    writeFileSync(checking, load.requests + checkOf(load.expected))
    writeFileSync(plain, load.requests)
    // The first round warms both up and checks every answer. Checking costs wrk time, so the measured rounds only count.
    for (const { address } of [ours, bare]) expectRight(wrk(address + load.path, checking, WARM_UP_SECONDS))
    const rounds = Array.from({ length: ROUNDS }, () => ({
      ours: drive(ours, load, plain),
      bare: drive(bare, load, plain),
    }))
    return summarise(rounds)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function summarise(rounds: readonly { readonly ours: Round; readonly bare: Round }[]): Comparison {
  const cpuPerAnswer = ({ cpuSeconds, requests }: Round) => cpuSeconds / requests
  return {
    rounds: rounds.length,
    ratio: rounded(median(rounds.map(({ ours, bare }) => ours.perSecond / bare.perSecond))),
    ratio_by_cpu: rounded(median(rounds.map(({ ours, bare }) => cpuPerAnswer(bare) / cpuPerAnswer(ours)))),
    bare_per_second: Math.round(median(rounds.map(({ bare }) => bare.perSecond))),
    ours_per_second: Math.round(median(rounds.map(({ ours }) => ours.perSecond))),
    bare_requests: rounds.reduce((total, { bare }) => total + bare.requests, 0),
    ours_requests: rounds.reduce((total, { ours }) => total + ours.requests, 0),
  }
}

/** Our server's answer, for the bare one to repeat. Headers that node:http adds by itself are left out. */
export async function replyOf(address: string, path: string, sent: Parameters<typeof post>[2]): Promise<Reply> {
  const answer = await post(address, path, sent)
  const {
    date,
    connection,
    'keep-alive': kept,
    'content-length': length,
    'transfer-encoding': encoding,
    ...headers
  } = answer.headers
  return { status: answer.status, headers: headers as Reply['headers'], body: answer.text }
}

/** `script`: a file of Lua. */
export function drive(
  { address, pids }: Driven,
  { path, refused }: Pick<Load, 'path' | 'refused'>,
  script: string,
): Round {
  const before = cpuSeconds(pids)
  const output = wrk(address + path, script, ROUND_SECONDS)
  const [perSecond, requests] = [figure(output, /Requests\/sec:\s+([\d.]+)/), figure(output, /(\d+) requests in/)]
  const refusals = figure(output, /Non-2xx or 3xx responses: (\d+)|$/) || 0
  if (refused !== 'some' && refusals !== (refused === 'all' ? requests : 0)) throw new Error(`wrk: ${output}`)
  return { perSecond, requests, cpuSeconds: cpuSeconds(pids) - before }
}

function wrk(url: string, script: string, seconds: number): string {
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url]
  const output = execFileSync('wrk', args, { encoding: 'utf8' })
  if (!(figure(output, /(\d+) requests in/) > 0) || output.includes('Socket errors')) throw new Error(`wrk: ${output}`)
  return output
}

function expectRight(output: string): void {
  if (figure(output, /unexpected=(\d+)/) !== 0) throw new Error(`wrk: ${output}`)
}

const checkOf = (expected: string) => `unexpected = 0
local threads = {}
function response(status, headers, body) if not (${expected}) then unexpected = unexpected + 1 end end
function setup(thread) threads[#threads + 1] = thread end
function done() io.write('unexpected=' .. tostring(threads[1]:get('unexpected')) .. '\\n') end
`

const figure = (output: string, pattern: RegExp) => Number(pattern.exec(output)?.[1])

/** User and system time of processes so far: fields 14 and 15 of proc(5), stat; the name in field 2 may contain spaces. */
export function cpuSeconds(pids: readonly number[]): number {
  const ticks = pids.flatMap((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return [Number(fields[11]), Number(fields[12])]
  })
  return ticks.reduce((total, each) => total + each, 0) / CLOCK_TICKS
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

const rounded = (ratio: number) => Number(ratio.toFixed(3))

/** Requests of wrk: each polls the next code. */
export function pollingScript(forms: readonly string[]): string {
  return `local forms = {${forms.map((form) => `'${form}'`).join(',')}}
local at = 0
wrk.method = 'POST'
wrk.headers['content-type'] = 'application/x-www-form-urlencoded'
function request() at = at % #forms + 1 return wrk.format(nil, nil, nil, forms[at]) end
`
}
