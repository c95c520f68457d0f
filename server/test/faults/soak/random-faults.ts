/** Faults at random, from a seed: engines restarted and frozen, connections ended, a server killed and started. */
import { setTimeout as sleep } from 'node:timers/promises'
import { between } from '../../model/suspension-traffic.ts'
import type { OwnPostgres } from '../../rig/engines/own-postgres.ts'
import { runStatements } from '../../rig/engines/postgres-programs.ts'
import type { RedisNode } from '../../rig/engines/redis-node.ts'

export type Exposed = {
  readonly postgres: OwnPostgres
  readonly redis: RedisNode
  /** Resolves when another one serves in its place. */
  replaceServer(): Promise<void>
}

/** How long an engine is away: clients go on trying for longer. */
const AWAY_MS = { min: 500, max: 3_000 } as const

type Fault = { readonly name: string; cause(exposed: Exposed, awayMs: number): Promise<void> }

const END_CONNECTIONS =
  "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"

const FAULTS: readonly Fault[] = [
  {
    name: 'PostgreSQL restarted',
    cause: async ({ postgres }, awayMs) => {
      postgres.stop()
      await sleep(awayMs)
      postgres.start()
    },
  },
  {
    name: 'PostgreSQL frozen',
    cause: async ({ postgres }, awayMs) => {
      postgres.freeze()
      await sleep(awayMs)
      postgres.thaw()
    },
  },
  {
    name: 'connections to PostgreSQL ended',
    cause: async ({ postgres }) => {
      await runStatements(postgres.url, END_CONNECTIONS)
    },
  },
  {
    name: 'Redis restarted',
    cause: async ({ redis }, awayMs) => {
      await redis.kill()
      await sleep(awayMs)
      await redis.start()
    },
  },
  {
    name: 'Redis frozen',
    cause: async ({ redis }, awayMs) => {
      redis.freeze()
      await sleep(awayMs)
      redis.thaw()
    },
  },
  {
    name: 'connections to Redis ended',
    cause: async ({ redis }) => {
      await redis.ask('client', 'kill', 'type', 'normal')
      await redis.ask('client', 'kill', 'type', 'pubsub')
    },
  },
  { name: 'server killed', cause: ({ replaceServer }) => replaceServer() },
]

/** Each once before any comes again, in an order that the seed gives. */
export function createFaults(exposed: Exposed, random: () => number): { next(): Promise<string> } {
  let waiting: Fault[] = []
  return {
    next: async () => {
      if (waiting.length === 0) waiting = shuffle(FAULTS, random)
      const fault = waiting.pop()
      if (!fault) return ''
      await fault.cause(exposed, between(random, AWAY_MS.min, AWAY_MS.max))
      return fault.name
    },
  }
}

function shuffle<T>(values: readonly T[], random: () => number): T[] {
  return values
    .map((value) => ({ value, order: random() }))
    .sort((one, other) => one.order - other.order)
    .map(({ value }) => value)
}
