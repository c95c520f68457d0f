/** A Redis of its own, whose memory holds nothing else. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createRedis } from '../../../tools/engine-processes.ts'
import { freePort } from '../../../tools/free-port.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'

/** What a measurement asks a Redis. */
export type InspectedRedis = {
  usedMemory(): Promise<number>
  keys(): Promise<number>
  forgetEverything(): Promise<void>
  readonly url: string
}

export type PrivateRedis = InspectedRedis & { readonly pid: number; stop(): void }

export async function startPrivateRedis(): Promise<PrivateRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-million-'))
  const engine = createRedis(folder, await freePort())
  engine.start()
  const { close, ...redis } = inspectRedis(engine.url)
  // It may need another moment to listen; the client retries.
  await redis.keys()
  return {
    ...redis,
    pid: engine.pid() ?? 0,
    stop: () => {
      close()
      engine.stop('SIGTERM')
      removeFolder(folder)
    },
  }
}

function inspectRedis(url: string): InspectedRedis & { close(): void } {
  const redis = new Redis(url)
  redis.on('error', () => {})
  return {
    url,
    usedMemory: async () => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]),
    keys: () => redis.dbsize(),
    forgetEverything: async () => {
      await redis.flushall()
    },
    close: () => redis.disconnect(),
  }
}
