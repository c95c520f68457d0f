/**
 * Resets a connection. One that is being shut down is closed instead: libuv refuses to reset it (EINVAL), and Node then never
 * closes it, so that the process does not end.
 */
import type { Socket } from 'node:net'

export function resetConnection(socket: Socket): void {
  if (socket.destroyed) return
  if (socket.writableEnded && !socket.writableFinished) socket.destroy()
  else socket.resetAndDestroy()
}
