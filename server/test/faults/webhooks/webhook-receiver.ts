/**
 * A faulty webhook receiver in a process of its own: for each event the first attempts may be refused, disconnected
 * after they were read, or left hanging. It prints what it received, line by line.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

/** For the first two attempts at each event. From the third on it behaves, so that a run ends. */
const REFUSED = 0.15
const CUT = 0.05
const MAX_MOODS = 2

/** In total: each holds a lane for ten seconds. */
const MAX_HANGING = 5

export type Line = {
  readonly id: string
  readonly outcome: 'taken' | 'forged'
  readonly event: string
  readonly at: number
}

let secret = ''
let hanging = 0
const attempts = new Map<string, number>()
const tell = (line: Line | { port: number }) => process.stdout.write(`${JSON.stringify(line)}\n`)

const server = createServer(async (request, response) => {
  const body = await text(request).catch(() => null)
  if (body === null) return
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
  const id = headers['webhook-id'] ?? ''
  const tried = (attempts.get(id) ?? 0) + 1
  attempts.set(id, tried)
  const mood = tried > MAX_MOODS ? 1 : Math.random()
  if (mood < REFUSED) return void response.writeHead(500).end()
  if (tried === 1 && hanging < MAX_HANGING && Math.random() < 0.01) {
    hanging += 1
    return
  }
  try {
    const { type, data } = new Webhook(secret).verify(body, headers) as { type: string; data: { grant?: string } }
    tell({ id, outcome: 'taken', event: `${type} ${data.grant}`, at: Date.now() })
  } catch {
    tell({ id, outcome: 'forged', event: '', at: Date.now() })
  }
  if (mood < REFUSED + CUT) return void response.destroy()
  response.writeHead(204).end()
})
server.listen(0, '127.0.0.1', () => tell({ port: (server.address() as AddressInfo).port }))

// The secret arrives once there is an endpoint; the process ends with its parent.
createInterface({ input: process.stdin })
  .on('line', (line) => {
    secret = line
  })
  .on('close', () => process.exit(0))
