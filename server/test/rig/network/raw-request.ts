/** A request written byte for byte, for input that no client sends; returns the raw answer. */
import { connect } from 'node:net'

/** Reads until the connection closes: send `Connection: close`, unless the server closes by itself. */
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
