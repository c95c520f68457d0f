/** Waits for a program that does not report when it listens. */
import { once } from 'node:events'
import { connect } from 'node:net'

/** Resolves when this host and port accept connections. */
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
