/** What devices get for codes that their users allowed, and what the databases say about it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Device } from '../../rig/device.ts'
import type { Harness } from './harness.ts'
import type { WaitingCode } from './waiting-codes.ts'

export type Delivery = {
  readonly code: WaitingCode
  /** Answers with credentials. */
  readonly delivered: number
  readonly credential: string | null
  readonly problems: readonly string[]
}

const TIMEOUT_MS = 60_000
const PAUSE_MS = 300
const PENDING = ['auth_pending', 'slow_down']

/** Two devices poll the same code, as a client does that lost an answer, until both have heard something final. */
export async function collectTwice({ address, application }: Harness, code: WaitingCode): Promise<Delivery> {
  const device = new Device(address, application)
  const until = performance.now() + TIMEOUT_MS
  const problems: string[] = []
  const credentials: string[] = []
  const poll = async () => {
    while (performance.now() < until) {
      const { status, body, text } = await device.poll(code.deviceCode)
      if (status === 200) credentials.push(body.access_token)
      else if (status !== 400 || ![...PENDING, 'invalid'].includes(body.error))
        problems.push(`a poll of an allowed code was answered ${status} ${text.slice(0, 100)}`)
      if (status === 200 || body.error === 'invalid') return
      await sleep(PAUSE_MS)
    }
    problems.push('nothing final was heard of an allowed code')
  }
  await Promise.all([poll(), poll()])
  return { code, delivered: credentials.length, credential: credentials[0] ?? null, problems }
}

const AT_ONCE = 16

/** Works on all of them, a few at a time. */
export async function each<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result>,
  atOnce = AT_ONCE,
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const lane = async () => {
    while (next < items.length) {
      const index = next
      next += 1
      results[index] = await work(items[index] as Item, index)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return results
}

/** Codes that were not delivered exactly once, or do not have exactly one grant in all cells together. */
export async function judgeDeliveries({ cells }: Harness, deliveries: readonly Delivery[]) {
  const ids = deliveries.map(({ code }) => code.id)
  const grants = new Map<string, number>()
  for (const { pool } of cells) {
    const { rows } = await pool.query<{ id: string; grants: number }>(
      'select device_code_id as id, count(*)::int as grants from grants where device_code_id = any($1) group by 1',
      [ids],
    )
    for (const row of rows) grants.set(row.id, (grants.get(row.id) ?? 0) + row.grants)
  }
  const countOf = ({ code }: Delivery) => grants.get(code.id) ?? 0
  return {
    allowed: deliveries.length,
    lost: deliveries.filter((delivery) => delivery.delivered === 0 || countOf(delivery) === 0).length,
    twice: deliveries.filter((delivery) => delivery.delivered > 1 || countOf(delivery) > 1).length,
    problems: [...new Set(deliveries.flatMap(({ problems }) => problems))],
  }
}
