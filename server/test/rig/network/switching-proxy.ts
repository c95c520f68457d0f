/** Stands between a service and its PostgreSQL, as the address of a cluster does: cut off, and led to another server. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type SwitchingProxy = {
  readonly port: number
  /** Ends every connection and accepts none. */
  cut(): void
  lead(port: number): void
  stop(): Promise<void>
}

export async function startSwitchingProxy(port: number): Promise<SwitchingProxy> {
  let target: number | null = port
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    if (target === null) {
      client.destroy()
      return
    }
    const upstream = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        to.destroy()
        sockets.delete(from)
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    target = null
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    lead: (to) => {
      target = to
    },
    stop: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
