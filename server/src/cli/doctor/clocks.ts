/**
 * Clock check. Lifetimes depend on PostgreSQL's clock alone; authenticator codes, webhooks and readers of logs depend
 * on real time.
 */
import { readClock } from '../../store/device/partitions.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'
import { broken, type Finding, ok, warning } from './finding.ts'
import type { ExaminedRedis } from './redis.ts'

const NOTICEABLE_MS = 2_000
/** One step of an authenticator (TOTP): beyond it, its codes are refused. */
const HARMFUL_MS = 30_000

const REMEDY = 'Synchronize the clocks of all machines, for example with chrony or systemd-timesyncd.'

export async function examineClocks(db: Postgres, redis: ExaminedRedis['clock']): Promise<readonly Finding[]> {
  const asked = Date.now()
  const theirs = await readClock(db)
  const postgres = theirs - (asked + Date.now()) / 2
  const findings = [
    ...judge('PostgreSQL', postgres, 'authenticator codes are rejected'),
    ...(redis ? judge('Redis', redis.theirs - redis.ours, null) : []),
  ]
  return findings.length > 0 ? findings : [ok('clocks', 'The clocks are synchronized.')]
}

function judge(engine: string, aheadMs: number, harm: string | null): readonly Finding[] {
  const by = Math.abs(aheadMs)
  if (by < NOTICEABLE_MS) return []
  const what = `The clock of ${engine} is ${Math.round(by / 1000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine's`
  if (harm && by >= HARMFUL_MS) return [broken('clocks', `${what}: ${harm}.`, REMEDY)]
  return [warning('clocks', `${what}.`, REMEDY)]
}
