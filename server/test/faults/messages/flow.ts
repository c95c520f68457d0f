/** What a flow is: prepared without faults, run with one, and finished as its client would finish it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { WireAnswer } from '../../rig/device.ts'
import type { Harness } from './harness.ts'

/** `double`: something happened or was delivered twice. `lost`: something that a client was told, or is owed, is gone. */
export type Problem = { readonly kind: 'double' | 'lost' | 'wrong'; readonly text: string }

export type Started = {
  /** The requests whose messages are counted. Does not fail: a client that hears nothing does not know the outcome. */
  act(): Promise<void>
  /** The link works again, and the server runs. */
  finish(after: After): Promise<readonly Problem[]>
}

export type After = {
  /**
   * The server was killed. An answer that it had sent, without a record of that, is delivered once more
   * (docs/interface/device-flow.md, "Delivery").
   */
  readonly killed: boolean
}

export type Flow = {
  readonly name: string
  prepare(harness: Harness): Promise<Started>
}

/** Null: the connection broke, and the client does not know. */
export async function attempt<T>(request: () => Promise<T>): Promise<T | null> {
  try {
    return await request()
  } catch {
    return null
  }
}

const TRIES = 25
const PAUSE_MS = 400

type Status = Pick<WireAnswer, 'status'>

export const isServed = <T extends Status>(answer: T | null): answer is T => answer !== null && answer.status < 500

/** The answer heard so far, or the same request again until it is served, as a client does after a 503. */
export async function untilServed<T extends Status>(
  heard: T | null,
  request: () => Promise<T>,
  pause: () => Promise<void> = async () => {},
): Promise<T> {
  let answer = heard
  for (let tried = 0; tried < TRIES; tried += 1) {
    if (isServed(answer)) return answer
    if (tried > 0) await sleep(PAUSE_MS)
    await pause()
    answer = await attempt(request)
  }
  if (isServed(answer)) return answer
  throw new Error(`${TRIES} times no answer, or an error`)
}

/** The number of rows must be as expected. */
export async function countRows(
  { service }: Harness,
  what: string,
  expected: number,
  sql: string,
  values: unknown[],
): Promise<readonly Problem[]> {
  const [row] = await service.database.query<{ count: number }>(`select count(*)::int as count ${sql}`, values)
  const found = row?.count ?? 0
  if (found === expected) return []
  return [{ kind: found > expected ? 'double' : 'lost', text: `${what}: ${found} instead of ${expected}` }]
}

export function expectEqual(what: string, found: unknown, expected: unknown): readonly Problem[] {
  return found === expected ? [] : [{ kind: 'wrong', text: `${what}: ${found} instead of ${expected}` }]
}
