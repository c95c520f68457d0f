/**
 * When PostgreSQL or Redis did not answer a process in time, as the processes themselves say in their logs.
 *
 * A decision ends the shared hint before it is answered, so that a poll sent afterwards hears the outcome. While Redis is
 * silent the gate promises less: a hint may live on for MAX_HINT_MS. On a machine that is too busy this happens; the
 * races hold such a code to the weaker promise, count it, and allow few of them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../src/flows/context.ts'
import type { ServerProcess } from '../rig/server-process.ts'

/** Until what a process wrote has been read here. */
const LOG_IS_READ_MS = 200

export type EngineSilences = {
  /** How many codes met one. */
  readonly codes: number
  /** Whether a process missed an answer between the moment and now. A code that did is counted. */
  metSince(startedAt: SilenceMark): Promise<boolean>
  mark(): SilenceMark
}

export type SilenceMark = { readonly at: number; readonly failures: number }

export function watchEngines(context: Context, servers: readonly ServerProcess[]): EngineSilences {
  let codes = 0
  return {
    get codes() {
      return codes
    },
    mark: () => ({ at: Date.now(), failures: context.gate.failures }),
    metSince: async ({ at, failures }) => {
      await sleep(LOG_IS_READ_MS)
      const met = context.gate.failures > failures || servers.some((server) => wasSilentSince(server, at))
      if (met) codes += 1
      return met
    },
  }
}

function wasSilentSince(server: ServerProcess, at: number): boolean {
  const events = [...server.log().matchAll(/"time":"([^"]+)","event":"(engine_away|engine_back)"/g)]
  const last = events.at(-1)
  // The silence may have begun before, and goes on until the process says that the engine is back.
  return last !== undefined && (last[2] === 'engine_away' || Date.parse(last[1] ?? '') >= at)
}
