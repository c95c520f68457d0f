/**
 * A private PostgreSQL and Redis for development and tests, on free ports, under the ignored folder .engines/ or, if it is
 * set, the folder ENGINES_FOLDER.
 *
 *   npm run engines                start them if they are not running
 *   npm run engines -- --env       the same, and print exports for `eval`
 *   npm run engines -- --running   exit status 0 if they are running
 *   npm run engines -- --stop      stop them
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPostgres, createRedis } from './engine-processes.ts'
import { freePort } from './free-port.ts'

const FOLDER = process.env.ENGINES_FOLDER ?? join(import.meta.dirname, '..', '.engines')
const RECORD = join(FOLDER, 'engines.json')

export type Engines = { readonly databaseUrl: string; readonly redisUrl: string }
type Ports = { readonly postgresPort: number; readonly redisPort: number }

export async function startEngines(): Promise<Engines> {
  mkdirSync(FOLDER, { recursive: true })
  const { postgresPort, redisPort } = await ports()
  const [postgres, redis] = [createPostgres(FOLDER, postgresPort), createRedis(FOLDER, redisPort)]
  postgres.start()
  redis.start()
  return { databaseUrl: postgres.url, redisUrl: redis.url }
}

/** Reuses the previous ports, so that exports in an open terminal stay valid. */
async function ports(): Promise<Ports> {
  if (existsSync(RECORD)) return JSON.parse(readFileSync(RECORD, 'utf8'))
  const chosen = { postgresPort: await freePort(), redisPort: await freePort() }
  writeFileSync(RECORD, JSON.stringify(chosen))
  return chosen
}

if (import.meta.main) {
  try {
    await run(process.argv[2])
  } catch (error) {
    console.error(`${(error as Error).message}\nThe Debian packages postgresql and redis-server are required.`)
    process.exitCode = 1
  }
}

async function run(option: string | undefined): Promise<void> {
  if (option === '--stop') return stopEngines()
  if (option === '--running') {
    process.exitCode = (await areRunning()) ? 0 : 1
    return
  }
  const { databaseUrl, redisUrl } = await startEngines()
  const lines = [`DATABASE_URL=${databaseUrl}`, `REDIS_URL=${redisUrl}`]
  console.log(lines.map((line) => (option === '--env' ? `export ${line}` : line)).join('\n'))
}

async function areRunning(): Promise<boolean> {
  if (!existsSync(RECORD)) return false
  const { postgresPort, redisPort } = await ports()
  return createRedis(FOLDER, redisPort).pid() !== null && createPostgres(FOLDER, postgresPort).pid() !== null
}

async function stopEngines(): Promise<void> {
  if (!existsSync(RECORD)) return
  const { postgresPort, redisPort } = await ports()
  createRedis(FOLDER, redisPort).stop('SIGTERM')
  createPostgres(FOLDER, postgresPort).stop('fast')
}
