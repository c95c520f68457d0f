/** Global set-up: finds or starts PostgreSQL and Redis, unless the environment names them, and a Redis cluster. */
import { startEngines } from '../../../../tools/engines.ts'
import { startCluster, type TestCluster } from './redis-cluster.ts'

let cluster: TestCluster | null = null

export async function setup(): Promise<void> {
  if (!process.env.DATABASE_URL || !process.env.REDIS_URL) {
    const { databaseUrl, redisUrl } = await startEngines()
    process.env.DATABASE_URL ??= databaseUrl
    process.env.REDIS_URL ??= redisUrl
  }
  // Once for all projects of a run.
  if (process.env.REDIS_CLUSTER_URL) return
  cluster = await startCluster()
  process.env.REDIS_CLUSTER_URL = cluster.url
}

export async function teardown(): Promise<void> {
  await cluster?.stop()
}
