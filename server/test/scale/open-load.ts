/**
 * An open loop: requests at a steady rate, independent of earlier answers, in a process of its own, so that it shares no event
 * loop with the server or the measurement. Latency is counted from when a request was due.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { Agent, request } from 'node:http'
import { setPriority } from 'node:os'

export type Stream = {
  readonly name: string
  readonly perSecond: number
  readonly path: string
  /** Sent in turn. */
  readonly bodies: readonly string[]
  /** Client addresses for X-Forwarded-For, in turn: this many networks. */
  readonly networks: readonly string[]
}

export type Plan = {
  readonly address: string
  readonly streams: readonly Stream[]
  /** For each stream. */
  readonly connections: number
  /** `nice`: 0, or more for load that must not take processor time from what is measured. */
  readonly nice: number
  /** A request is late if more than this many requests were answered 200 while it waited. */
  readonly overtakenBy?: number
}

export type Measured = {
  readonly name: string
  readonly sent: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Median number of requests that overtook it. */
  readonly overtaken: number
  readonly late: number
  /** Answers by status, with the error code if there is one. */
  readonly answers: Readonly<Record<string, number>>
}

export type OpenLoad = {
  run(seconds: number): Promise<readonly Measured[]>
  stop(): void
}

export function startOpenLoad(plan: Plan): OpenLoad {
  const child: ChildProcess = fork(new URL(import.meta.url), ['open-load'], { execArgv: [] })
  child.send(plan)
  let fail = (_reason: Error) => {}
  child.once('exit', (code) => fail(new Error(`the load ended with ${code}`)))
  return {
    run: (seconds) =>
      new Promise((resolve, reject) => {
        fail = reject
        child.once('message', (measured) => resolve(measured as readonly Measured[]))
        child.send(seconds)
      }),
    stop: () => child.kill(),
  }
}

const TICK_MS = 5

if (process.argv[2] === 'open-load') {
  let plan: Plan | null = null
  let agent: Agent | null = null
  process.on('message', async (message: Plan | number) => {
    if (typeof message === 'object') {
      plan = message
      agent = new Agent({ keepAlive: true, scheduling: 'lifo' })
      setPriority(message.nice)
    } else if (plan && agent) {
      const [given, by] = [plan, agent]
      process.send?.(await Promise.all(given.streams.map((stream) => send(stream, message, by, given))))
    }
  })
}

/** Requests of all streams answered 200 so far. */
let served = 0

async function send(stream: Stream, seconds: number, agent: Agent, plan: Plan): Promise<Measured> {
  const times: number[] = []
  const overtaken: number[] = []
  const answers: Record<string, number> = {}
  const running = new Set<Promise<void>>()
  const begun = performance.now()
  const total = Math.round(stream.perSecond * seconds)
  let sent = 0
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(total, Math.ceil(((performance.now() - begun) / 1000) * stream.perSecond))
      for (; sent < due; sent += 1) {
        // A refused connection counts as an error.
        if (running.size >= plan.connections) {
          answers.unsent = (answers.unsent ?? 0) + 1
          continue
        }
        const [at, before] = [begun + (sent / stream.perSecond) * 1000, served]
        const one = ask(stream, sent, plan.address, agent).then((word) => {
          times.push(performance.now() - at)
          overtaken.push(served - before)
          if (word === '200') served += 1
          answers[word] = (answers[word] ?? 0) + 1
        })
        running.add(one)
        void one.finally(() => running.delete(one))
      }
      if (sent < total) return
      clearInterval(timer)
      resolve()
    }, TICK_MS)
  })
  await Promise.all(running)
  const late = overtaken.filter((by) => by > (plan.overtakenBy ?? Number.POSITIVE_INFINITY)).length
  const [p50Ms, p99Ms] = [quantile(times, 0.5), quantile(times, 0.99)]
  return { name: stream.name, sent, p50Ms, p99Ms, overtaken: quantile(overtaken, 0.5), late, answers }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function ask({ path, bodies, networks }: Stream, turn: number, address: string, agent: Agent): Promise<string> {
  const body = bodies[turn % bodies.length] ?? ''
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': Buffer.byteLength(body),
    'x-forwarded-for': networks[turn % networks.length] ?? '',
  }
  return new Promise((resolve) => {
    const outgoing = request(`${address}${path}`, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('latin1')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('error', () => resolve('broken'))
      response.on('end', () => {
        const word = /^\{"error":"(\w+)"/.exec(text)?.[1]
        resolve(word === undefined ? String(response.statusCode) : `${response.statusCode} ${word}`)
      })
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'failed'))
    outgoing.end(body)
  })
}
