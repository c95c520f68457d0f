/**
 * Thousands of devices in a process of their own, each with a held poll on a connection of its own: written byte for byte,
 * so that the load takes as little of the machine as possible. A device whose poll ends without an outcome polls again, at
 * the interval if it was not held. After its credentials it polls on until it is told `invalid`.
 */
import { fork } from 'node:child_process'
import { connect } from 'node:net'

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

/** Credentials, with their time on the monotonic clock of the machine in milliseconds. */
type Heard = {
  readonly arrived: readonly (readonly [device: number, at: number])[]
  readonly repeated: readonly number[]
  readonly double: readonly number[]
}

export type HeldDevices = {
  readonly arrivedAt: ReadonlyMap<number, number>
  /** Devices that got the same credentials again: allowed if a process was killed before it stored that it had sent them. */
  readonly repeated: ReadonlySet<number>
  /** Devices that got two different ones. */
  readonly double: ReadonlySet<number>
  stop(): void
}

export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6

export function startHeldDevices(port: number, forms: readonly string[]): HeldDevices {
  const arrivedAt = new Map<number, number>()
  const repeated = new Set<number>()
  const double = new Set<number>()
  const crowds = Array.from({ length: Math.ceil(forms.length / DEVICES_PER_PROCESS) }, (_, index) => {
    const from = index * DEVICES_PER_PROCESS
    const crowd = fork(new URL(import.meta.url))
    crowd.on('message', (heard: Heard) => {
      for (const [device, at] of heard.arrived) arrivedAt.set(device, at)
      for (const device of heard.repeated) repeated.add(device)
      for (const device of heard.double) double.add(device)
    })
    const ordered: Ordered = {
      port,
      from,
      forms: forms.slice(from, from + DEVICES_PER_PROCESS),
    }
    crowd.send(ordered)
    return crowd
  })
  return { arrivedAt, repeated, double, stop: () => crowds.forEach((crowd) => void crowd.kill('SIGKILL')) }
}

if (process.send) process.once('message', (ordered: Ordered) => void runDevices(ordered))

function runDevices({ port, from, forms }: Ordered): void {
  let arrived: [number, number][] = []
  let repeated: number[] = []
  let double: number[] = []
  // Evenly over a wait: otherwise all of them would poll again at the same time, one wait later.
  const perTick = Math.ceil((forms.length * TICK_MS) / (WAIT_SECONDS * 1000))
  let started = 0
  const opening: number[] = []
  const tokens = new Map<number, string>()
  setInterval(() => {
    for (let next = 0; next < perTick && started < forms.length; next += 1) poll(started++)
    for (const index of opening.splice(0, OPENED_PER_TICK)) poll(index)
  }, TICK_MS)
  setInterval(() => {
    if (arrived.length + repeated.length + double.length > 0)
      process.send?.({ arrived, repeated, double } satisfies Heard)
    arrived = []
    repeated = []
    double = []
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
      if (ended) return
      sentAt = nowMs()
      text = ''
      socket.write(request(tokens.has(index) ? '' : `prefer: wait=${WAIT_SECONDS}\r\n`))
    }
    let ended = false
    /** Polls again over a new connection, at the interval. */
    const reconnect = () => {
      if (ended) return
      ended = true
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
      const [, token] = /"access_token":"([^"]+)"/.exec(text) ?? []
      if (token !== undefined) {
        const known = tokens.get(index)
        if (known === undefined) arrived.push([from + index, nowMs()])
        else if (known === token) repeated.push(from + index)
        else double.push(from + index)
        tokens.set(index, token)
      }
      if (text.includes('"invalid"')) {
        ended = true
        return void socket.destroy()
      }
      if (/\r\nconnection: close\r\n/i.test(text)) return reconnect()
      setTimeout(send, Math.max(0, sentAt + INTERVAL_MS - nowMs()))
    })
  }
}
