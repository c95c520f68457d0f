/** A TCP proxy in front of a server that delays, falls silent, or cuts the server's answer. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { resetConnection } from './reset-connection.ts'

export type FaultProxy = {
  readonly port: number
  /** Accepts connections and passes nothing on, in neither direction, as a network that drops every packet does. */
  silence(): void
  /** Passes on again, first what was held back. */
  heal(): void
  /** Each connection is reset after so many bytes of the server's answer. Null: none is. */
  cutAfter(bytes: number | null): void
  stop(): Promise<void>
}

type FaultProxyOptions = {
  readonly host?: string
  /** Of each chunk, in either direction. */
  readonly delayMs?: () => number
}

export async function startFaultProxy(
  target: { readonly port: number; readonly host?: string },
  { host = '127.0.0.1', delayMs }: FaultProxyOptions = {},
): Promise<FaultProxy> {
  const sockets = new Set<Socket>()
  let waiting: (() => void)[] | null = null
  let cut: number | null = null

  /** In order, though each chunk has its own delay: a connection does not reorder its bytes. */
  const inOrder = () => {
    let last: Promise<unknown> = Promise.resolve()
    return (work: () => void) => {
      const due = new Promise((resolve) => setTimeout(resolve, delayMs?.() ?? 0))
      last = Promise.all([last, due]).then(work)
    }
  }
  const whenHealed = (work: () => void) => {
    if (waiting) waiting.push(work)
    else work()
  }

  const server = createServer((client) => {
    const upstream = connect(target.port, target.host ?? '127.0.0.1')
    let left = cut
    const pass = (to: Socket, bytes: Buffer) => {
      if (to !== client || left === null) return to.write(bytes)
      const part = bytes.subarray(0, left)
      left -= part.length
      return left > 0 ? to.write(part) : to.write(part, () => resetConnection(to))
    }
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      const deliver = delayMs ? inOrder() : (work: () => void) => work()
      from.on('data', (bytes) => deliver(() => whenHealed(() => pass(to, bytes))))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        deliver(() => whenHealed(() => to.destroy()))
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return {
    port: (server.address() as AddressInfo).port,
    silence: () => {
      waiting ??= []
    },
    heal: () => {
      const held = waiting ?? []
      waiting = null
      for (const work of held) work()
    },
    cutAfter: (bytes) => {
      cut = bytes
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
