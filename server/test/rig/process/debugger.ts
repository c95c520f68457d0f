/** Runs an expression within a server that was started with `--inspect`, as a debugger does. The service has no way to do so. */

/** Addresses of the debugger of a process and of its children, from their output. */
export function debuggersOf(log: string): readonly string[] {
  return Array.from(log.matchAll(/Debugger listening on (ws:\S+)/g), ([, address = '']) => address)
}

/** Resolves when the expression was evaluated, or the process has ended. */
export function evaluateWithin(address: string, expression: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = new WebSocket(address)
    socket.addEventListener('open', () => {
      socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } }))
    })
    socket.addEventListener('message', () => socket.close())
    socket.addEventListener('error', () => resolve())
    socket.addEventListener('close', () => resolve())
  })
}
