/**
 * Redis (or Valkey) check, if one is configured: it answers, is new enough, and evicts keys when its memory is full.
 */
import { once } from 'node:events'
import { openRedis, type RedisClient } from '../../gate/redis-link.ts'
import { type Finding, ok, warning } from './finding.ts'

const OLDEST = 7
const TIMEOUT_MS = 3_000

export type ExaminedRedis = {
  readonly findings: readonly Finding[]
  /** The clock of Redis and this machine's clock at the same moment; null if Redis did not answer. */
  readonly clock: { readonly theirs: number; readonly ours: number } | null
}

export async function examineRedis(url: string | null): Promise<ExaminedRedis> {
  if (url === null) {
    return { findings: [ok('redis', 'REDIS_URL is not set: each process paces polls on its own.')], clock: null }
  }
  let failure = 'no answer'
  const link = openRedis(url, (_, reason) => {
    failure = reason ?? failure
  })
  try {
    await once(link.redis, 'ready', { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const facts = await readInfo(link.redis)
    return { findings: [judge(facts)], clock: await readTime(link.redis) }
  } catch {
    const what = `Redis is unreachable (${failure}): each process paces polls and counts limits on its own.`
    return { findings: [warning('redis', what, 'Start it, or correct REDIS_URL.')], clock: null }
  } finally {
    await link.close()
  }
}

type Facts = { readonly version: string; readonly maxMemory: number; readonly policy: string }

async function readInfo(redis: RedisClient): Promise<Facts> {
  const text = await redis.info()
  const lines = text.split('\r\n')
  const field = (name: string) => lines.find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1)
  return {
    version: field('valkey_version') ?? field('redis_version') ?? '',
    maxMemory: Number(field('maxmemory') ?? 0),
    policy: field('maxmemory_policy') ?? '',
  }
}

function judge({ version, maxMemory, policy }: Facts): Finding {
  if (Number.parseInt(version, 10) < OLDEST)
    return warning('redis', `Redis is ${version}; 7 or later is required.`, 'Upgrade to Redis or Valkey 7 or later.')
  if (maxMemory > 0 && policy === 'noeviction') {
    const what = 'Redis rejects writes when its memory is full (noeviction); each process then paces polls on its own.'
    return warning('redis', what, 'Run "redis-cli config set maxmemory-policy volatile-ttl". Evicted keys do no harm.')
  }
  return ok('redis', `Redis ${version} is reachable.`)
}

async function readTime(redis: RedisClient): Promise<NonNullable<ExaminedRedis['clock']>> {
  const asked = Date.now()
  const [seconds, microseconds] = await redis.time()
  const ours = (asked + Date.now()) / 2
  return { theirs: Number(seconds) * 1000 + Number(microseconds) / 1000, ours }
}
