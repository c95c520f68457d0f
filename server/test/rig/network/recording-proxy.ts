/** A TCP proxy between a test and a server that keeps every byte of the server's answers. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type RecordingProxy = {
  readonly address: string
  /** All bytes of the server so far: headers and bodies, of every connection. */
  answered(): string
  stop(): Promise<void>
}

export async function startRecordingProxy(address: string): Promise<RecordingProxy> {
  const { hostname, port } = new URL(address)
  const answered: Buffer[][] = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    const chunks: Buffer[] = []
    answered.push(chunks)
    upstream.on('data', (chunk) => chunks.push(chunk))
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answered: () => answered.map((chunks) => Buffer.concat(chunks).toString()).join('\n'),
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
