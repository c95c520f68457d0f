/** Ports for programs that have to be given a number, because they cannot choose one themselves and say which. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those that the kernel gives to clients: otherwise a connection could take it before the program does. */
const [LOWEST, HIGHEST] = [20_000, 32_000]
const ATTEMPTS = 10

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST)
    if (await isFree(port)) return port
  }
}

/** As `start` finds it. Another program can take the port in between; then `start` fails with that, and is called with another one. */
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
  const listens = await Promise.race([
    once(server, 'listening').then(() => true),
    once(server, 'error').then(() => false),
  ])
  if (!listens) return false
  server.close()
  await once(server, 'close')
  return true
}
