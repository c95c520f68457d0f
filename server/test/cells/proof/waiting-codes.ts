/** Codes that wait for their users in each cell, and devices that poll them through HAProxy at a steady rate. */
import { closeContext, createContext } from '../../../src/app.ts'
import { makeConfig } from '../../rig/make.ts'
import { fillGate } from '../../scale/gate-keys.ts'
import { type Measured, type OpenLoad, startOpenLoad } from '../../scale/open-load.ts'
import { type PendingCodes, placePendingCodes, userCodeOf } from '../../scale/pending-codes.ts'
import { inspectRedis } from '../../scale/private-redis.ts'
import type { Cell, Harness } from './harness.ts'

export type CellCodes = {
  /** The cell that issued them. */
  readonly cell: Cell
  readonly codes: PendingCodes
  readonly postgresBytes: number
  readonly redisBytes: number
}

/** A code as its device and its user hold it. */
export type WaitingCode = {
  readonly id: string
  readonly issuer: number
  readonly deviceCode: string
  readonly userCode: string
}

/** `count`: in all cells together. */
export async function placeWaitingCodes({ cells, application }: Harness, count: number): Promise<CellCodes[]> {
  const placed: CellCodes[] = []
  for (const cell of cells) {
    const context = await createContext(makeConfig(cell.environment))
    // biome-ignore lint/suspicious/noExplicitAny: rows of statements of other modules
    const query = async (sql: string, values?: unknown[]): Promise<any[]> => (await cell.pool.query(sql, values)).rows
    const share = Math.ceil(count / cells.length)
    const { codes, bytes } = await placePendingCodes(context, { query }, application.id, share)
    await closeContext(context)
    const redis = inspectRedis(cell.redis.url)
    try {
      const redisBytes = await fillGate(redis, codes.ids)
      // The gate's hints would be alive for an hour.
      await redis.forgetEverything()
      placed.push({ cell, codes, postgresBytes: bytes, redisBytes })
    } finally {
      redis.close()
    }
  }
  return placed
}

const keysOf = ({ environment }: Cell) => makeConfig(environment).keys

/** Hands out codes of every cell, each once. The order depends on the seed. */
export function takeCodes(placed: readonly CellCodes[], random: () => number): (cell: number) => WaitingCode {
  const keys = placed.map(({ cell }) => keysOf(cell))
  const orders = placed.map(({ codes }) => shuffledIndexes(codes.ids.length, random))
  return (issuer) => {
    const index = orders[issuer]?.pop()
    const codes = placed[issuer]?.codes
    const [id, key] = [codes?.ids[index ?? -1], keys[issuer]]
    if (index === undefined || !codes || id === undefined || !key) throw new Error(`cell ${issuer} has no more codes`)
    return { id, issuer, deviceCode: textOf(codes, index), userCode: userCodeOf(key, id) }
  }
}

function shuffledIndexes(count: number, random: () => number): number[] {
  const indexes = Array.from({ length: count }, (_, index) => index)
  for (let last = count - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1))
    ;[indexes[last], indexes[other]] = [indexes[other] ?? 0, indexes[last] ?? 0]
  }
  return indexes
}

function textOf({ texts, textLength }: PendingCodes, index: number): string {
  return Buffer.from(texts).toString('latin1', index * textLength, (index + 1) * textLength)
}

/** Enough that no device polls twice within its interval. */
const POLLED = 20_000

/** By cell: codes that are polled, and never decided. */
export function takePolled(placed: readonly CellCodes[], take: (cell: number) => WaitingCode): WaitingCode[][] {
  return placed.map(({ cell, codes }) =>
    Array.from({ length: Math.min(POLLED, Math.floor(codes.ids.length / 2)) }, () => take(cell.id)),
  )
}

/** One stream of polls for each cell. `perSecond`: of each. */
export function startPolls(
  { address, application }: Harness,
  polled: readonly (readonly WaitingCode[])[],
  perSecond: number,
): OpenLoad {
  const credentials = { SVCappid: application.id, SVCsecret: application.secret }
  const streams = polled.map((codes, cell) => ({
    name: `cell ${cell}`,
    perSecond,
    path: '/auth/oauth/device/polling',
    bodies: codes.map(({ deviceCode }) => `${new URLSearchParams({ ...credentials, device_code: deviceCode })}`),
    networks: ['203.0.113.1'],
  }))
  return startOpenLoad({ address, streams, connections: 2_000, nice: 0 })
}

/** The code waits: every other answer is an error. */
const WAITING = ['400 auth_pending', '400 slow_down']

export function failuresOf({ answers }: Measured): number {
  return Object.entries(answers).reduce((sum, [word, times]) => (WAITING.includes(word) ? sum : sum + times), 0)
}

export function describePolls(measured: readonly Measured[]) {
  return measured.map((each) => ({
    polls: each.sent,
    p50_ms: round(each.p50Ms),
    p99_ms: round(each.p99Ms),
    failed: failuresOf(each),
    answers: each.answers,
  }))
}

export const round = (value: number, digits = 1): number => Number(value.toFixed(digits))

/** Runs polls until `work` is done. */
export async function underPolls<T>(polls: OpenLoad, work: () => Promise<T>): Promise<{ done: T; failed: string[] }> {
  let over = false
  const failed: string[] = []
  const polling = (async () => {
    while (!over) {
      for (const { name, answers } of await polls.run(1)) {
        const wrong = Object.entries(answers).filter(([word]) => !WAITING.includes(word))
        for (const [word, times] of wrong) failed.push(`${name}: ${times} polls were answered ${word}`)
      }
    }
  })()
  try {
    return { done: await work(), failed }
  } finally {
    over = true
    await polling
  }
}
