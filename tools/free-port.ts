/** Free ports for programs that cannot choose a port themselves. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ephemeral port range: otherwise an outgoing connection could take the port first. */
const [LOWEST, HIGHEST] = [20_000, 32_000]
const ATTEMPTS = 10

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST)
    if (await isFree(port)) return port
  }
}

/** Calls `start` with a free port. If another program takes the port first, retries with another one. */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(await freePort())
    } catch (error) {
      if (attempt === ATTEMPTS || !/EADDRINUSE|address already in use/i.test(String(error))) throw error
    }
  }
}

export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  const listens = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  if (!listens) return false
  server.close()
  await once(server, 'close')
  return true
}
