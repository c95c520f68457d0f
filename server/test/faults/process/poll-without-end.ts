/**
 * Polls in closed loops, half over kept connections, half over a new connection each: counts the answers, and the
 * connections that ended without one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openRawConnection, type RawHead } from '../../rig/network/raw-connection.ts'

/**
 * Half of the drain. A connection on which nothing was sent for longer is not used again, because a server that stops may be
 * closing it as idle: on a busy machine this process and the server may stand still for a whole drain.
 */
const MAX_IDLE_MS = 500

export type PollCounts = { answered: number; unanswered: number }

export type PollLoop = { readonly counts: PollCounts; end(): Promise<void> }

export function pollWithoutEnd(address: string, forms: readonly string[], everyMs = 0): PollLoop {
  const counts: PollCounts = { answered: 0, unanswered: 0 }
  let ended = false
  const count = ({ status }: RawHead) => {
    if (status === 400) counts.answered += 1
    else counts.unanswered += 1
  }
  const poll = async (form: string, kept: boolean) => {
    const request = Buffer.from(
      `POST /auth/oauth/device/polling HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\n` +
        `connection: ${kept ? 'keep-alive' : 'close'}\r\ncontent-length: ${form.length}\r\n\r\n${form}`,
    )
    let connection = openRawConnection(address)
    let sentAt = performance.now()
    while (!ended) {
      if (performance.now() - sentAt > MAX_IDLE_MS) {
        connection.close()
        connection = openRawConnection(address)
      }
      sentAt = performance.now()
      count(await connection.send(request))
      if (everyMs > 0) await sleep(everyMs)
    }
    connection.close()
  }
  const loops = forms.map((form, index) => poll(form, index % 2 === 0))
  return {
    counts,
    end: async () => {
      ended = true
      await Promise.all(loops)
    },
  }
}
