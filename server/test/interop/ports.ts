/** Ports for programs that cannot choose one themselves and say which, as proxies cannot. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Below those that clients are given. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    const server = createServer().listen(port, '127.0.0.1')
    const free = await Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ])
    if (!free) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

/** As soon as somebody takes connections there: host and port. */
export async function accepting(listen: string): Promise<void> {
  const [host = '', port] = listen.split(':')
  for (;;) {
    const socket = connect(Number(port), host)
    const connected = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (connected) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
