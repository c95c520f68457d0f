/** A client that writes requests byte for byte over one kept connection, and reads the head of each answer. */
import { connect, type Socket } from 'node:net'

/** Status 0: the connection was closed without an answer. */
export type RawHead = { readonly status: number; readonly text: string }

export type RawConnection = {
  send(request: Buffer): Promise<RawHead>
  close(): void
}

export function openRawConnection(address: string): RawConnection {
  const { hostname, port } = new URL(address)
  let socket: Socket | null = null
  let received = Buffer.alloc(0)
  let answered: (head: RawHead) => void = () => undefined

  const ended = () => {
    socket?.destroy()
    socket = null
    answered(headOf(received))
  }
  const open = () => {
    received = Buffer.alloc(0)
    const opened = connect(Number(port), hostname)
    opened.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      const length = lengthOf(received)
      if (length === null || received.length < length) return
      const head = headOf(received)
      if (/\r\nconnection: close\r\n/i.test(head.text)) return ended()
      received = received.subarray(length)
      answered(head)
    })
    opened.on('error', ended)
    opened.on('end', () => socket === opened && ended())
    return opened
  }
  return {
    send: (request) =>
      new Promise((resolve) => {
        answered = (head) => {
          answered = () => undefined
          resolve(head)
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

function headOf(received: Buffer): RawHead {
  const text = received.toString('latin1', 0, received.indexOf('\r\n\r\n') + 4)
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? 0), text }
}
