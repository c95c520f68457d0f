/** A request written by hand, byte for byte, for what no client would send; its answer as it came. */
import { connect } from 'node:net'

/** Ends where the connection does: ask for it with `Connection: close`, unless the server closes by itself. */
export function sendRaw(address: string, lines: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(address)
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), hostname)
    socket.on('error', reject)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('close', () => resolve(text))
    socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  })
}
