/** A client that writes requests byte for byte over one kept connection, and reads the status of each answer. */
import { connect, type Socket } from 'node:net'

export type RawConnection = {
  /** Status of the answer; 0 if the connection was closed without one. */
  send(request: Buffer): Promise<number>
  close(): void
}

export function openRawConnection(address: string): RawConnection {
  const { hostname, port } = new URL(address)
  let socket: Socket | null = null
  let received = Buffer.alloc(0)
  let answered: (status: number) => void = () => undefined

  const ended = () => {
    socket?.destroy()
    socket = null
    answered(statusOf(received))
  }
  const open = () => {
    received = Buffer.alloc(0)
    const opened = connect(Number(port), hostname)
    opened.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      const length = lengthOf(received)
      if (length === null || received.length < length) return
      const status = statusOf(received)
      if (/\r\nconnection: close\r\n/i.test(received.toString('latin1'))) return ended()
      received = received.subarray(length)
      answered(status)
    })
    opened.on('error', ended)
    opened.on('close', () => socket === opened && ended())
    return opened
  }
  return {
    send: (request) =>
      new Promise((resolve) => {
        answered = (status) => {
          answered = () => undefined
          resolve(status)
        }
        socket ??= open()
        socket.write(request)
      }),
    close: () => socket?.destroy(),
  }
}

/** Of the whole answer, once its head is there. Every answer of the service has a length. */
function lengthOf(received: Buffer): number | null {
  const head = received.indexOf('\r\n\r\n')
  if (head < 0) return null
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(received.toString('latin1', 0, head + 2))?.[1]
  return head + 4 + Number(length ?? 0)
}

function statusOf(received: Buffer): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(received.toString('latin1', 0, 20))?.[1] ?? 0)
}
