/**
 * An upgrade without downtime, at size: a million grants of the first release, migrated under load of the first release and of
 * this tree.
 *
 *   npm run verify -- upgrade                   1,000,000 grants, killed at every statement
 *   npm run verify -- upgrade --grants 20000    short form: killed at every fifth statement
 *
 * Fails if a request fails, if one waits for a lock for more than 100 ms, if an interrupted run does not converge, or if the
 * first release does not serve on the new schema. The ratio of the p99 latencies is printed, not judged: it depends on the machine.
 */
import { parseArgs } from 'node:util'
import { startEngines } from '../../../tools/engines.ts'
import { buildFirstRelease, CURRENT } from './builds.ts'
import { copyFirstRelease } from './first-release.ts'
import { interruptMigrations } from './interrupted-migrations.ts'
import { upgradeOnline } from './online-upgrade.ts'

const FAULTS = 'F33 F34 F35'
const MAX_LOCK_MS = 100
const FULL_GRANTS = 1_000_000

const { values } = parseArgs({ options: { grants: { type: 'string', default: String(FULL_GRANTS) } } })
const grants = Number(values.grants)
const full = grants >= FULL_GRANTS

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl

const say = (words: string) => console.log(words)
const first = buildFirstRelease()
if (first === CURRENT) say('The commit of the first release is not in this clone: this tree runs on both sides.')

const begun = performance.now()
const database = await copyFirstRelease({ grants, applications: full ? 10_000 : 500 }, first.executable)
say(`${grants} grants of the first release (${first.commit}) after ${seconds()} s`)
try {
  const online = await upgradeOnline({ database, first, quietSeconds: full ? 30 : 5, kills: full ? 12 : 3 })
  say(`migrated and rolled back after ${seconds()} s; the longest wait was for ${online.longestWait.what}`)

  const small = await copyFirstRelease({ grants: 1_000, applications: 50 }, first.executable)
  const interrupted = await interruptMigrations(small.name, full ? 1 : 5)
  await small.drop()

  const problems = [...new Set(online.failures), ...interrupted.problems]
  const longest = Math.round(online.longestWait.ms)
  if (longest > MAX_LOCK_MS) problems.push(`a request waited ${longest} ms for a lock: ${online.longestWait.what}`)
  if (online.afterRollback === 0) problems.push('the first release answered nothing on the new schema')
  say(
    `upgrade: grants=${grants} migrations=${online.migrations} requests=${online.requests} failed=${online.failures.length} longest_lock_ms=${longest} ` +
      `kills=${online.kills + interrupted.kills} converged=${online.kills + interrupted.converged} side_by_side_seconds=${online.sideBySideSeconds.toFixed(0)} ` +
      `p99_ratio=${online.p99Ratio.toFixed(2)} faults=${FAULTS.replaceAll(' ', ',')}`,
  )
  for (const problem of problems.slice(0, 20)) say(`FAILED: ${problem}`)
  if (problems.length > 0) process.exitCode = 1
} finally {
  await database.drop()
}

function seconds(): string {
  return ((performance.now() - begun) / 1000).toFixed(0)
}
