/**
 * Worker: visits a page again and again, and reports the time to the first byte of each visit. In a thread of its own, so that
 * what else its process does, which also runs a service, delays no measurement.
 */
import { Agent, request } from 'node:http'
import { parentPort } from 'node:worker_threads'
import type { Visited } from './visited-pages.ts'

export type Visits = { readonly address: string; readonly page: Visited; readonly visits: number }

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

parentPort?.on('message', async ({ address, page, visits }: Visits) => {
  const times: number[] = []
  for (let visit = 0; visit < visits; visit += 1) times.push(await firstByte(address, page))
  parentPort?.postMessage(times)
})

function firstByte(address: string, { name, path, host, cookies }: Visited): Promise<number> {
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const outgoing = request(
      address + path,
      { agent, headers: { accept: 'text/html', host, cookie: cookies[0] ?? '' } },
      (response) => {
        const took = performance.now() - begun
        if (response.statusCode !== 200) reject(new Error(`the page ${name} was answered ${response.statusCode}`))
        response.resume().on('end', () => resolve(took))
      },
    )
    outgoing.on('error', reject)
    outgoing.end()
  })
}
