/**
 * Times when PostgreSQL or Redis did not answer a process, taken from the logs of the processes.
 *
 * A decision drops the shared hint before it is answered, so that a later poll gets the outcome. While Redis does not
 * answer, the gate guarantees less: a hint may live for MAX_HINT_MS. This happens on a busy machine; the
 * races check such a code against the weaker guarantee, count it, and allow few of them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../src/flows/context.ts'
import type { ServerProcess } from '../rig/process/server-process.ts'

/** Until a log line was written and read, on a busy machine as well. Waited for only after a late answer. */
const LOG_DELAY_MS = 2_000

export type EngineSilences = {
  /** Number of affected codes. */
  readonly codes: number
  /** Whether a process missed an answer since that time. Counts the code if so. */
  metSince(startedAt: SilenceMark): Promise<boolean>
  mark(): SilenceMark
}

/** `failures` counts those of this process, which decides; null if a Redis had not answered it at that time. */
export type SilenceMark = { readonly at: number; readonly failures: number | null }

export function watchEngines(contexts: readonly Context[], servers: readonly ServerProcess[]): EngineSilences {
  let codes = 0
  const failures = () => contexts.reduce((sum, { gate }) => sum + gate.failures, 0)
  return {
    get codes() {
      return codes
    },
    // A failure shortly before: the decision does not try Redis again yet, and no further failure is counted.
    mark: () => ({ at: Date.now(), failures: contexts.every(({ gate }) => gate.answers) ? failures() : null }),
    metSince: async ({ at, failures: before }) => {
      await sleep(LOG_DELAY_MS)
      const met = failures() !== before || servers.some((server) => wasSilentSince(server, at))
      if (met) codes += 1
      return met
    },
  }
}

function wasSilentSince(server: ServerProcess, at: number): boolean {
  const events = [...server.log().matchAll(/"time":"([^"]+)","event":"(engine_away|engine_back)"/g)]
  const last = events.at(-1)
  // It may have started before, and lasts until the process logs that the engine is back.
  return last !== undefined && (last[2] === 'engine_away' || Date.parse(last[1] ?? '') >= at)
}
