/**
 * Thousands of devices in a process of their own, each with a held poll on a connection of its own: written byte for byte,
 * so that the load takes as little of the machine as possible. A device whose poll ends without an outcome polls again, at
 * the interval if it was not held. After its outcome it polls once more, which must not bring it again.
 */
import { fork } from 'node:child_process'
import { connect } from 'node:net'

/** Below the 20,000 descriptors that a process may have. */
const DEVICES_PER_PROCESS = 15_000

/** One address has 28,000 local ports towards a listener. */
const FIRST_LOCAL_ADDRESS = 10

const INTERVAL_MS = 5_000
const WAIT_SECONDS = 25
/** Longer than the longest wait: the connection is dead. */
const SILENT_MS = 40_000
/** Connections are opened this fast, so that none overflows the accept queue. */
const OPENED_PER_TICK = 25
const TICK_MS = 10

/** The body of each device's poll, in the order of their numbers. */
type Ordered = {
  readonly port: number
  readonly from: number
  readonly localAddress: string
  readonly forms: readonly string[]
}

/** Outcomes, with their time on the monotonic clock of the machine in milliseconds; and repeated outcomes. */
type Heard = {
  readonly arrived: readonly (readonly [device: number, at: number])[]
  readonly double: readonly number[]
}

export type HeldDevices = {
  readonly arrivedAt: ReadonlyMap<number, number>
  readonly double: ReadonlySet<number>
  stop(): void
}

export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6

export function startHeldDevices(port: number, forms: readonly string[]): HeldDevices {
  const arrivedAt = new Map<number, number>()
  const double = new Set<number>()
  const crowds = Array.from({ length: Math.ceil(forms.length / DEVICES_PER_PROCESS) }, (_, index) => {
    const from = index * DEVICES_PER_PROCESS
    const crowd = fork(new URL(import.meta.url))
    crowd.on('message', (heard: Heard) => {
      for (const [device, at] of heard.arrived) arrivedAt.set(device, at)
      for (const device of heard.double) double.add(device)
    })
    const ordered: Ordered = {
      port,
      from,
      localAddress: `127.0.0.${FIRST_LOCAL_ADDRESS + index}`,
      forms: forms.slice(from, from + DEVICES_PER_PROCESS),
    }
    crowd.send(ordered)
    return crowd
  })
  return { arrivedAt, double, stop: () => crowds.forEach((crowd) => void crowd.kill('SIGKILL')) }
}

if (process.send) process.once('message', (ordered: Ordered) => void runDevices(ordered))

function runDevices({ port, from, localAddress, forms }: Ordered): void {
  let arrived: [number, number][] = []
  let double: number[] = []
  const opening = forms.map((_, index) => index)
  setInterval(() => {
    for (const index of opening.splice(0, OPENED_PER_TICK)) poll(index, false)
  }, TICK_MS)
  setInterval(() => {
    if (arrived.length + double.length > 0) process.send?.({ arrived, double } satisfies Heard)
    arrived = []
    double = []
  }, 50)

  const poll = (index: number, again: boolean) => {
    const form = forms[index] ?? ''
    const prefer = again ? '' : `prefer: wait=${WAIT_SECONDS}\r\n`
    const request = Buffer.from(
      `POST /auth/oauth/device/polling HTTP/1.1\r\nhost: localhost\r\n${prefer}` +
        `content-type: application/x-www-form-urlencoded\r\ncontent-length: ${form.length}\r\n\r\n${form}`,
    )
    let sentAt = nowMs()
    let text = ''
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    const send = () => {
      sentAt = nowMs()
      text = ''
      socket.write(request)
    }
    let ended = false
    /** Polls again over a new connection, at the interval. */
    const reconnect = () => {
      if (ended) return
      ended = true
      socket.destroy()
      setTimeout(() => opening.push(index), Math.max(0, sentAt + INTERVAL_MS - nowMs()))
    }
    const end = () => {
      ended = true
      socket.destroy()
    }
    socket.setTimeout(SILENT_MS, reconnect)
    socket.on('connect', send)
    socket.on('error', reconnect)
    socket.on('close', reconnect)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!text.includes('}')) return
      const accepted = text.startsWith('HTTP/1.1 200')
      if (again) {
        if (accepted) double.push(from + index)
        return end()
      }
      if (accepted) {
        arrived.push([from + index, nowMs()])
        end()
        return void setTimeout(() => poll(index, true), INTERVAL_MS)
      }
      if (text.includes('"invalid"')) return end()
      if (/\r\nconnection: close\r\n/i.test(text)) return reconnect()
      setTimeout(() => !ended && send(), Math.max(0, sentAt + INTERVAL_MS - nowMs()))
    })
  }
}
