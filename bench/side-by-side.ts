/**
 * Two servers under load at the same time, for clients that wait: the wait determines how many requests are answered per second, so
 * only the processor time of the servers is compared, window after window.
 */
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Driven, examine, expectRight, figure, wrkArguments } from './against-bare.ts'

/** `script`: a file of Lua. */
export type Loaded = Driven & { readonly script: string }

export type Windows = {
  readonly count: number
  readonly seconds: number
  /** Before the first one: until all connections are open and the load is even. */
  readonly openingSeconds: number
}

/** Processor time of both in a window. */
export type Window = { readonly ours: number; readonly reference: number; readonly seconds: number }

export type SideBySide = {
  readonly windows: readonly Window[]
  readonly oursPerSecond: number
  readonly referencePerSecond: number
}

export async function driveSideBySide(
  ours: Loaded,
  reference: Loaded,
  path: string,
  { count, seconds, openingSeconds }: Windows,
  connections: number,
): Promise<SideBySide> {
  // The load ends one window after the last one that is measured.
  const loadSeconds = openingSeconds + (count + 1) * seconds
  const answered = Promise.all(
    [ours, reference].map(({ address, script }) => answersPerSecond(address + path, script, loadSeconds, connections)),
  )
  await sleep(openingSeconds * 1_000)
  const windows: Window[] = []
  while (windows.length < count) {
    const before = { ours: ours.cpuSeconds(), reference: reference.cpuSeconds(), at: performance.now() }
    await sleep(seconds * 1_000)
    windows.push({
      ours: ours.cpuSeconds() - before.ours,
      reference: reference.cpuSeconds() - before.reference,
      seconds: (performance.now() - before.at) / 1_000,
    })
  }
  const [oursPerSecond = 0, referencePerSecond = 0] = await answered
  return { windows, oursPerSecond, referencePerSecond }
}

async function answersPerSecond(url: string, script: string, seconds: number, connections: number): Promise<number> {
  const child = spawn('wrk', wrkArguments(url, script, seconds, connections))
  const output = examine((await child.stdout.setEncoding('utf8').toArray()).join(''))
  expectRight(output)
  return figure(output, /Requests\/sec:\s+([\d.]+)/)
}
