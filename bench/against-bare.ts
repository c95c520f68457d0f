/** Our server and the bare one under the same load: rounds of wrk that alternate between them within one run. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { post } from '../server/test/rig/device.ts'
import { spawnTied } from '../server/test/rig/process/tied-process.ts'
import type { Reply } from './bare-server.ts'
import type { Rates, Ratios } from './judge.ts'

const ROUNDS = 21
const ROUND_SECONDS = 1
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

/** Each figure is the median of the rounds; a ratio is that of two neighbours in time. */
export type Comparison = Ratios &
  Rates & {
    readonly rounds: number
    /** As the load generator counted them, in the measured rounds. */
    readonly ours_requests: number
  }

export type Round = { readonly perSecond: number; readonly requests: number; readonly cpuSeconds: number }

/** `refusals`: answers with a status of 400 or more. */
export type DrivenRound = Round & { readonly refusals: number }

export type Driven = {
  readonly address: string
  /** Processor time so far of all processes that take part in an answer. */
  cpuSeconds(): number
}

/** `reply`: its fixed answer. */
export async function startBareServer(reply: Reply): Promise<Driven & { stop(): void }> {
  const program = [join(import.meta.dirname, 'bare-server.ts'), JSON.stringify(reply)]
  const child = spawnTied('KILL', process.execPath, program, { stdio: ['ignore', 'pipe', 'inherit'] })
  if (!child.stdout) throw new Error('the bare server has no output')
  const address = String((await once(child.stdout, 'data'))[0]).trim()
  return { address, cpuSeconds: () => cpuSeconds([child.pid ?? 0]), stop: () => void child.kill() }
}

/** Against a bare server that gives the reply of ours to `sample`, whatever it is sent. */
export async function compareWithBare(
  ours: Driven,
  load: Load,
  sample: Parameters<typeof post>[2],
): Promise<Comparison> {
  const bare = await startBareServer(await replyOf(ours.address, load.path, sample))
  try {
    return alternate(ours, bare, load)
  } finally {
    bare.stop()
  }
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
      reference: drive(bare, load, plain),
    }))
    return summarise(rounds)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export function summarise(rounds: readonly { readonly ours: Round; readonly reference: Round }[]): Comparison {
  const cpuUs = ({ cpuSeconds, requests }: Round) => (1e6 * cpuSeconds) / requests
  return {
    rounds: rounds.length,
    ratio: rounded(median(rounds.map(({ ours, reference }) => ours.perSecond / reference.perSecond))),
    ratio_by_cpu: rounded(median(rounds.map(({ ours, reference }) => cpuUs(reference) / cpuUs(ours)))),
    ours_per_second: Math.round(median(rounds.map(({ ours }) => ours.perSecond))),
    reference_per_second: Math.round(median(rounds.map(({ reference }) => reference.perSecond))),
    ours_cpu_us: Math.round(median(rounds.map(({ ours }) => cpuUs(ours)))),
    reference_cpu_us: Math.round(median(rounds.map(({ reference }) => cpuUs(reference)))),
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
  driven: Driven,
  { path, refused }: Pick<Load, 'path' | 'refused'>,
  script: string,
  { seconds = ROUND_SECONDS, connections = CONNECTIONS } = {},
): DrivenRound {
  const before = driven.cpuSeconds()
  const output = wrk(driven.address + path, script, seconds, connections)
  const [perSecond, requests] = [figure(output, /Requests\/sec:\s+([\d.]+)/), figure(output, /(\d+) requests in/)]
  const refusals = figure(output, /Non-2xx or 3xx responses: (\d+)|$/) || 0
  if (refused !== 'some' && refusals !== (refused === 'all' ? requests : 0)) throw new Error(`wrk: ${output}`)
  return { perSecond, requests, refusals, cpuSeconds: driven.cpuSeconds() - before }
}

export function wrkArguments(url: string, script: string, seconds: number, connections: number): string[] {
  return ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '-s', script, url]
}

function wrk(url: string, script: string, seconds: number, connections = CONNECTIONS): string {
  return examine(execFileSync('wrk', wrkArguments(url, script, seconds, connections), { encoding: 'utf8' }))
}

/** Throws if there were no answers, or not to every request. */
export function examine(output: string): string {
  if (!(figure(output, /(\d+) requests in/) > 0) || output.includes('Socket errors')) throw new Error(`wrk: ${output}`)
  return output
}

export function expectRight(output: string): void {
  if (figure(output, /unexpected=(\d+)/) !== 0) throw new Error(`wrk: ${output}`)
}

export const checkOf = (expected: string) => `unexpected = 0
local threads = {}
function response(status, headers, body) if not (${expected}) then unexpected = unexpected + 1 end end
function setup(thread) threads[#threads + 1] = thread end
function done() io.write('unexpected=' .. tostring(threads[1]:get('unexpected')) .. '\\n') end
`

export const figure = (output: string, pattern: RegExp) => Number(pattern.exec(output)?.[1])

/** User and system time of processes so far. */
export function cpuSeconds(pids: readonly number[]): number {
  return ticksOf(pids, [14, 15]) / CLOCK_TICKS
}

/** The same of a process and its children, those that have ended included. */
export function cpuSecondsOfTree(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  return (ticksOf([pid], [14, 15, 16, 17]) + ticksOf(children, [14, 15])) / CLOCK_TICKS
}

/** `fields`: numbers as in proc(5), /proc/pid/stat. The name in field 2 may contain spaces. */
function ticksOf(pids: readonly number[], fields: readonly number[]): number {
  const ticks = pids.flatMap((pid) => {
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return fields.map((field) => Number(afterName[field - 3]))
  })
  return ticks.reduce((total, each) => total + each, 0)
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

const rounded = (ratio: number) => Number(ratio.toFixed(3))

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** A form as `post` sends it. */
export const formOf = (raw: string) => ({ raw, headers: FORM })

/** Requests of wrk: each sends the next form. */
export function postingScript(forms: readonly string[], headers: Readonly<Record<string, string>> = {}): string {
  const all = { ...FORM, ...headers }
  return `local forms = {${forms.map((form) => `'${form}'`).join(',')}}
local at = 0
wrk.method = 'POST'
${Object.entries(all)
  .map(([name, value]) => `wrk.headers['${name}'] = '${value}'`)
  .join('\n')}
function request() at = at % #forms + 1 return wrk.format(nil, nil, nil, forms[at]) end
`
}
