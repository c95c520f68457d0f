/**
 * Random polls over all codes: a closed loop of keep-alive connections (node:http) on a worker thread, so that the
 * load does not share an event loop with anything else. The server is another process.
 */
import { Agent, request } from 'node:http'
import { createHistogram } from 'node:perf_hooks'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { MadeApplication } from '../rig/make.ts'
import type { PendingCodes } from './pending-codes.ts'

const CONNECTIONS = 128

export type Load = {
  readonly address: string
  readonly application: MadeApplication
  readonly texts: PendingCodes['texts']
  readonly textLength: number
  readonly seconds: number
  /** Longer than `seconds` on a machine that is too slow for so many. */
  readonly minPolls?: number
}

export type LoadResult = {
  readonly polls: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers by error code. */
  readonly answers: ReadonlyMap<string, number>
}

export function runLoad(load: Load): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: load })
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}

if (!isMainThread) {
  const load = workerData as Load
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, scheduling: 'fifo' })
  const texts = Buffer.from(load.texts)
  const codes = load.texts.byteLength / load.textLength
  const credentials = new URLSearchParams({ SVCappid: load.application.id, SVCsecret: load.application.secret })
  const { hostname, port } = new URL(load.address)
  const latency = createHistogram()
  const answers = new Map<string, number>()
  const started = performance.now()
  const end = started + load.seconds * 1000
  const minPolls = load.minPolls ?? 0

  const poll = () =>
    new Promise<void>((resolve, reject) => {
      const at = Math.floor(Math.random() * codes) * load.textLength
      const body = `${credentials}&device_code=${texts.toString('latin1', at, at + load.textLength)}`
      const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length }
      const sent = performance.now()
      const outgoing = request(
        { hostname, port, path: '/auth/oauth/device/polling', method: 'POST', agent, headers },
        (response) => {
          let text = ''
          response.setEncoding('latin1')
          response.on('data', (chunk) => {
            text += chunk
          })
          response.on('end', () => {
            latency.record(Math.max(1, Math.round((performance.now() - sent) * 1000)))
            const word = /^\{"error":"(\w+)"/.exec(text)?.[1] ?? `${response.statusCode} ${text.slice(0, 100)}`
            answers.set(word, (answers.get(word) ?? 0) + 1)
            resolve()
          })
        },
      )
      outgoing.on('error', reject)
      outgoing.end(body)
    })

  const keepPolling = async () => {
    while (performance.now() < end || latency.count < minPolls) await poll()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, keepPolling))
  const result: LoadResult = {
    polls: latency.count,
    seconds: (performance.now() - started) / 1000,
    p50Ms: latency.percentile(50) / 1000,
    p99Ms: latency.percentile(99) / 1000,
    answers,
  }
  agent.destroy()
  parentPort?.postMessage(result)
}
