/**
 * npm run verify -- histories: the checker accepts every history of a service that keeps to the specification, and refuses
 * histories with wrong answers. Prints how long it takes.
 *
 *   npm run verify -- histories                      1,000,000 histories, a new seed
 *   npm run verify -- histories --histories 20000    the short form
 *   npm run verify -- histories --seed 42            the same histories again
 */
import { parseArgs } from 'node:util'
import { between, randomFrom } from '../model/suspension-traffic.ts'
import { check, explain } from './check.ts'
import { corrupt, generateHistory } from './generate.ts'

const MIN_HISTORIES = 1_000

/** As many as in the longest histories that devices and users leave, apart from repeated polls. */
const MAX_OPERATIONS = 20

/** One history in so many is also checked with two wrong answers. */
const CORRUPTED = 10

/** Of refused histories, so many are printed. */
const SHOWN = 3

const { values } = parseArgs({
  options: { seed: { type: 'string' }, histories: { type: 'string', default: '1000000' } },
})
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 30) : Number(values.seed)
const histories = Number(values.histories)
if (!Number.isSafeInteger(seed)) throw new Error('--seed takes a whole number')
if (!(histories >= MIN_HISTORIES)) throw new Error(`--histories takes ${MIN_HISTORIES} or more`)
console.log(`seed: ${seed}`)

const random = randomFrom(seed)
const counted = { operations: 0, accepted: 0, corrupted: 0, refused: 0 }
let slowestMs = 0
const begun = performance.now()
for (let each = 0; each < histories; each += 1) {
  const history = generateHistory(random, between(random, 2, MAX_OPERATIONS))
  const from = performance.now()
  const { accepted } = check(history)
  slowestMs = Math.max(slowestMs, performance.now() - from)
  counted.operations += history.length
  if (accepted) counted.accepted += 1
  else if (each - counted.accepted < SHOWN) console.error(`history ${each}: ${explain(history)}`)
  if (each % CORRUPTED > 0) continue
  counted.corrupted += 1
  if (!check(corrupt(random, corrupt(random, history))).accepted) counted.refused += 1
}
const seconds = (performance.now() - begun) / 1000

console.log(
  `histories: histories=${histories} accepted=${counted.accepted} operations=${counted.operations} corrupted=${counted.corrupted} refused=${counted.refused} seconds=${seconds.toFixed(1)} slowest_ms=${slowestMs.toFixed(1)}`,
)
// A wrong answer may be right by chance, in another order.
const tooTolerant = counted.refused < counted.corrupted / 2
if (tooTolerant) console.error('histories: less than half of the corrupted histories were refused')
process.exitCode = counted.accepted === histories && !tooTolerant ? 0 : 1
