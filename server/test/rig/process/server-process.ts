/** A server in production form: the built executable, in a process of its own, on a real port. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { makeEnvironment } from '../make.ts'
import { EXECUTABLE } from './executable.ts'
import { spawnTied } from './tied-process.ts'

export type ServerProcess = {
  readonly address: string
  readonly pid: number
  /** Output so far, both streams. */
  log(): string
  /** Resolves when it has exited. */
  kill(signal: NodeJS.Signals): Promise<void>
  readonly exited: Promise<void>
}

export type StartOptions = {
  readonly preload?: URL
  readonly processes?: number
  /** Options of Node. */
  readonly node?: readonly string[]
  /** A program that becomes the server after it has changed something for it: `prlimit`, `unshare`, `ip netns exec`. */
  readonly by?: readonly [string, ...string[]]
}

/** As `preload`: the server waits for a busy PostgreSQL or Redis far longer than in production. */
export const LONG_TIMEOUTS = new URL('../engines/long-timeouts.ts', import.meta.url)
export const LONG_POSTGRES_TIMEOUTS = new URL('../engines/long-postgres-timeouts.ts', import.meta.url)

export async function startServerProcess(
  environment: Record<string, string>,
  options: StartOptions = {},
): Promise<ServerProcess> {
  const several = options.processes === undefined ? [] : ['--processes', String(options.processes)]
  const preload = options.preload ? ['--import', options.preload.href] : []
  const command = [process.execPath, ...(options.node ?? []), ...preload, EXECUTABLE, 'serve', ...several]
  const [program = '', ...args] = [...(options.by ?? []), ...command]
  const child = spawnTied('KILL', program, args, {
    env: { PATH: process.env.PATH, ...makeEnvironment({ LOG_LEVEL: 'info', ...environment }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit').then(() => {})
  const lines: string[] = []
  const address = await listening(child, lines, options.processes === undefined ? 'listening' : 'supervising')
  return {
    address,
    pid: child.pid ?? 0,
    log: () => lines.join('\n'),
    kill: (signal) => {
      child.kill(signal)
      return exited
    },
    exited,
  }
}

/** Processes that have listened, in the order of their starts. */
export function listeningPids(server: ServerProcess): number[] {
  return Array.from(server.log().matchAll(/"pid":(\d+),"event":"listening"/g), ([, pid]) => Number(pid))
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Resident memory. */
export function residentMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kilobytes) / 1024)
}

/** Waits for the log line that names the address. */
function listening(child: ChildProcess, lines: string[], event: 'listening' | 'supervising'): Promise<string> {
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line)
        const address = /"address":"([^"]+)"/.exec(line)?.[1]
        if (address && line.includes(`"event":"${event}"`)) resolve(address)
      })
    }
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${lines.join('\n')}`)))
  })
}
