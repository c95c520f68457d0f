/**
 * Polls in closed loops, half over kept connections, half over a new connection each: counts the answers, and the
 * connections that ended without one.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { openRawConnection, type RawHead } from '../../rig/network/raw-connection.ts'

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
    const connection = openRawConnection(address)
    while (!ended) {
      count(await connection.send(request))
      if (everyMs > 0) await sleep(everyMs)
      // Reads what has arrived before the next poll is sent: the server may have closed the idle connection while this
      // process was suspended.
      await setImmediate()
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
