/** Waiting for a program that does not say when it listens. */
import { once } from 'node:events'
import { connect } from 'node:net'

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
