/** A Redis of its own, whose memory holds nothing else. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createRedis } from '../../../tools/engine-processes.ts'
import { freePort } from '../../../tools/free-port.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'

export type PrivateRedis = {
  readonly url: string
  readonly pid: number
  usedMemory(): Promise<number>
  keys(): Promise<number>
  forgetEverything(): Promise<void>
  stop(): void
}

export async function startPrivateRedis(): Promise<PrivateRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-million-'))
  const engine = createRedis(folder, await freePort())
  engine.start()
  const redis = new Redis(engine.url)
  // It may need another moment to listen; the client retries.
  redis.on('error', () => {})
  await redis.ping()
  return {
    url: engine.url,
    pid: engine.pid() ?? 0,
    usedMemory: async () => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]),
    keys: () => redis.dbsize(),
    forgetEverything: async () => {
      await redis.flushall()
    },
    stop: () => {
      redis.disconnect()
      engine.stop('SIGTERM')
      removeFolder(folder)
    },
  }
}
