/** The machine of a benchmark, saved with a baseline: a figure says little without it. */
import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { engineUrl, type TestDatabase } from '../server/test/rig/engines/database.ts'

export type Machine = Readonly<Record<string, string | number>>

export async function describeMachine(database: Pick<TestDatabase, 'query'>): Promise<Machine> {
  const [postgres] = await database.query<{ server_version: string }>('show server_version')
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model ?? '',
    memory_gb: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    postgres: postgres?.server_version.split(' ')[0] ?? '',
    redis: await redisFact('redis_version'),
  }
}

export async function redisPid(): Promise<number> {
  return Number(await redisFact('process_id'))
}

/** Its connections are its children. */
export async function postgresPid(database: TestDatabase): Promise<number> {
  const [row] = await database.query<{ folder: string }>("select current_setting('data_directory') as folder")
  return Number(readFileSync(join(row?.folder ?? '', 'postmaster.pid'), 'utf8').split('\n')[0])
}

async function redisFact(name: 'redis_version' | 'process_id'): Promise<string> {
  const redis = new Redis(engineUrl('REDIS_URL'))
  try {
    return new RegExp(`^${name}:(\\S+)`, 'm').exec(await redis.info('server'))?.[1] ?? ''
  } finally {
    redis.disconnect()
  }
}
