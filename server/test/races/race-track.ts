/** Shared by all races: devices, users and their concurrency. */
import type { Context } from '../../src/flows/context.ts'
import { Unavailable } from '../../src/store/postgres/postgres.ts'
import type { RecordedCode, RecordedCodes } from '../history/recorded-code.ts'
import { Device, type WireVariant } from '../rig/device.ts'
import type { TestDatabase } from '../rig/engines/database.ts'
import type { MadeApplication, MadeUser } from '../rig/make.ts'

export type RaceTrack = {
  readonly addresses: readonly string[]
  readonly application: MadeApplication
  /** In which users decide. */
  readonly context: Context
  /** Of two accounts. */
  readonly users: readonly [MadeUser, MadeUser]
  query: TestDatabase['query']
  readonly codes: RecordedCodes
}

/** A device whose requests go to the given process. */
export function deviceAt(track: RaceTrack, lane: number, variant: WireVariant): Device {
  return new Device(track.addresses[lane % track.addresses.length] ?? '', track.application, variant)
}

/** A poll that waits for the decision (docs/decisions/0050-polls-are-held.md). */
export const HELD = { prefer: 'wait=10' }

/** Enough for a poll to be held on most machines. If it comes later, it is an ordinary poll. */
export const ON_ITS_WAY_MS = 30

/** Requests a code from the process of that lane. */
export async function requestAt(
  track: RaceTrack,
  lane: number,
  parameters: Record<string, string> = {},
): Promise<RecordedCode> {
  const device = deviceAt(track, lane, variantOf(lane))
  const calledAt = performance.now()
  return track.codes.add(device, await device.code(parameters), calledAt)
}

export const variantOf = (index: number): WireVariant => (index % 2 === 0 ? 'oauth' : 'key')

/** Runs `work` for 0 … count-1 with this concurrency, and returns the results in order. */
export async function inLanes<T>(count: number, lanes: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = new Array(count)
  let next = 0
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (next < count) {
        const index = next
        next += 1
        results[index] = await work(index)
      }
    }),
  )
  return results
}

/** Retries 503 a few times, as a user does. */
export async function retryUnavailable<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Unavailable) || attempt === 5) throw error
    }
  }
}
