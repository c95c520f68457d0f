/**
 * Compares the service with the contract, three times from one seed: the core with a reference model,
 * every reachable state of the core with its invariants, and running servers with the same reference model.
 *
 *   npm run verify -- model                 a new seed
 *   npm run verify -- model --seed 42    the same sequences again
 *   npm run verify -- model --operations 5000    fewer of the slow ones, on servers; less is refused
 */
import { parseArgs } from 'node:util'
import { startEngines } from '../../../tools/engines.ts'
import { checkCore } from './check-core.ts'
import { checkServer } from './check-server.ts'
import type { Seen } from './seen.ts'
import { walkStates } from './walk-states.ts'

const CORE_OPERATIONS = 300_000

/** Minimum number of operations to compare. */
const LEAST = { core: 200_000, server: 5_000 } as const

const { values } = parseArgs({
  options: { seed: { type: 'string' }, operations: { type: 'string', default: '10000' } },
})
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 30) : Number(values.seed)
if (!Number.isSafeInteger(seed)) throw new Error('--seed takes a whole number')
const serverOperations = Number(values.operations)
if (!(serverOperations >= LEAST.server)) throw new Error(`--operations takes ${LEAST.server} or more`)
console.log(`seed: ${seed}`)

if (!process.env.DATABASE_URL || !process.env.REDIS_URL) {
  const { databaseUrl, redisUrl } = await startEngines()
  process.env.DATABASE_URL ??= databaseUrl
  process.env.REDIS_URL ??= redisUrl
}

const core = checkCore(seed, CORE_OPERATIONS)
report('core', core)
const walk = walkStates()
report('walk', walk)
const server = await checkServer(seed, serverOperations)
report('server', server)

const divergences = [core, walk, server].filter((part) => part.divergence !== null).length
console.log(
  `model: core_operations=${core.operations} server_operations=${server.operations} states=${walk.states} transitions=${walk.transitions} divergences=${divergences}`,
)
const tooFew = core.operations < LEAST.core || server.operations < LEAST.server
if (tooFew) console.log(`model: TOO FEW: ${LEAST.core} in the core and ${LEAST.server} on servers are the least`)
process.exitCode = divergences === 0 && !tooFew ? 0 : 1

function report(part: string, result: { readonly seen?: Seen; readonly divergence: string | null }): void {
  for (const line of result.seen?.lines() ?? []) console.log(`${part}: ${line}`)
  if (result.divergence !== null) console.log(`${part}: DIVERGENCE\n${result.divergence}`)
}
