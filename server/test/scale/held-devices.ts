/**
 * Thousands of devices in a process of their own, each with a held poll on a connection of its own: written byte for byte,
 * so that the load takes as little of the machine as possible. A device whose poll ends without an outcome polls again, at
 * the interval if it was not held. After its credentials it polls on until it is told `invalid`.
 */
import { fork } from 'node:child_process'
import { connect } from 'node:net'
import { type Answer, plain } from '../history/history.ts'

/** Below the 20,000 descriptors that a process may have. */
const DEVICES_PER_PROCESS = 15_000

/** Local addresses of a process: finding a free port takes the kernel milliseconds where half of them are taken. */
const LOCAL_ADDRESSES = 16

const INTERVAL_MS = 5_000
const WAIT_SECONDS = 25
/** Longer than the longest wait: the connection is dead. */
const SILENT_MS = 40_000
/** Connections are opened again this fast, so that none overflows the accept queue. */
const OPENED_PER_TICK = 25
const TICK_MS = 10

/** The body of each device's poll, in the order of their numbers. */
type Ordered = {
  readonly port: number
  readonly from: number
  readonly forms: readonly string[]
}

/** A poll of a device, with times on the monotonic clock of the machine in milliseconds. */
export type DevicePoll = {
  readonly device: number
  readonly calledAt: number
  readonly answeredAt: number
  /** Null if the connection ended before it came. */
  readonly answer: Answer | null
}

export type HeldDevices = {
  /** In the order in which they ended. */
  readonly polls: readonly DevicePoll[]
  /** When each device first heard its credentials. */
  readonly arrivedAt: ReadonlyMap<number, number>
  /** Devices that got the same credentials again: allowed if a process was killed before it stored that it had sent them. */
  readonly repeated: ReadonlySet<number>
  /** Devices that got two different ones. */
  readonly double: ReadonlySet<number>
  stop(): void
}

export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6

export function startHeldDevices(port: number, forms: readonly string[]): HeldDevices {
  const polls: DevicePoll[] = []
  const arrivedAt = new Map<number, number>()
  const credentialsOf = new Map<number, string>()
  const repeated = new Set<number>()
  const double = new Set<number>()
  const note = (poll: DevicePoll) => {
    polls.push(poll)
    const { device, answer } = poll
    if (answer?.credentials == null) return
    const known = credentialsOf.get(device)
    if (known === undefined) arrivedAt.set(device, poll.answeredAt)
    else if (known === answer.credentials) repeated.add(device)
    else double.add(device)
    credentialsOf.set(device, answer.credentials)
  }
  const crowds = Array.from({ length: Math.ceil(forms.length / DEVICES_PER_PROCESS) }, (_, index) => {
    const from = index * DEVICES_PER_PROCESS
    const crowd = fork(new URL(import.meta.url))
    crowd.on('message', (ended: readonly DevicePoll[]) => ended.forEach(note))
    const ordered: Ordered = {
      port,
      from,
      forms: forms.slice(from, from + DEVICES_PER_PROCESS),
    }
    crowd.send(ordered)
    return crowd
  })
  return { polls, arrivedAt, repeated, double, stop: () => crowds.forEach((crowd) => void crowd.kill('SIGKILL')) }
}

if (process.send) process.once('message', (ordered: Ordered) => void runDevices(ordered))

function runDevices({ port, from, forms }: Ordered): void {
  let ended: DevicePoll[] = []
  // Evenly over a wait: otherwise all of them would poll again at the same time, one wait later.
  const perTick = Math.ceil((forms.length * TICK_MS) / (WAIT_SECONDS * 1000))
  let started = 0
  const opening: number[] = []
  const served = new Set<number>()
  setInterval(() => {
    for (let next = 0; next < perTick && started < forms.length; next += 1) poll(started++)
    for (const index of opening.splice(0, OPENED_PER_TICK)) poll(index)
  }, TICK_MS)
  setInterval(() => {
    if (ended.length > 0) process.send?.(ended)
    ended = []
  }, 50)

  const poll = (index: number) => {
    const form = forms[index] ?? ''
    const request = (prefer: string) =>
      Buffer.from(
        `POST /auth/oauth/device/polling HTTP/1.1\r\nhost: localhost\r\n${prefer}` +
          `content-type: application/x-www-form-urlencoded\r\ncontent-length: ${form.length}\r\n\r\n${form}`,
      )
    let sentAt = nowMs()
    let text = ''
    const localAddress = `127.0.${1 + Math.floor(from / DEVICES_PER_PROCESS)}.${1 + (index % LOCAL_ADDRESSES)}`
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    const send = () => {
      if (closed) return
      sentAt = nowMs()
      text = ''
      asked = true
      socket.write(request(served.has(index) ? '' : `prefer: wait=${WAIT_SECONDS}\r\n`))
    }
    let asked = false
    let closed = false
    const end = (answer: Answer | null) => {
      if (asked) ended.push({ device: from + index, calledAt: sentAt, answeredAt: nowMs(), answer })
      asked = false
    }
    /** Polls again over a new connection, at the interval. */
    const reconnect = () => {
      if (closed) return
      end(null)
      closed = true
      socket.destroy()
      setTimeout(() => opening.push(index), Math.max(0, sentAt + INTERVAL_MS - nowMs()))
    }
    socket.setTimeout(SILENT_MS, reconnect)
    socket.on('connect', send)
    socket.on('error', reconnect)
    socket.on('close', reconnect)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!text.includes('}')) return
      // Not the access token: a token set that is delivered again a minute later has another one, of the same grant.
      const [, credentials = null] = /"refresh_token":"([^"]+)"/.exec(text) ?? []
      const [, error] = /"error":"([^"]+)"/.exec(text) ?? []
      if (credentials !== null) {
        served.add(index)
        end({ is: 'accepted', credentials })
      } else end(error === undefined || error === 'unavailable' ? null : plain(error))
      if (error === 'invalid') {
        closed = true
        return void socket.destroy()
      }
      if (/\r\nconnection: close\r\n/i.test(text)) return reconnect()
      setTimeout(send, Math.max(0, sentAt + INTERVAL_MS - nowMs()))
    })
  }
}
