/** One Redis process, a server or a sentinel, that a test may kill, freeze, and start again on its port. */
import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { onFreePort } from '../../../../tools/free-port.ts'
import { spawnTied } from '../process/tied-process.ts'

export type RedisNode = {
  readonly port: number
  /** Runs one command; the empty string if the process does not answer. */
  ask(...command: string[]): Promise<string>
  /** Does nothing if it runs. */
  start(): Promise<void>
  /** Resolves when it has ended. */
  kill(): Promise<void>
  freeze(): void
  thaw(): void
  /** None while it does not run. */
  pids(): readonly number[]
}

/** `lines`: its settings, as in redis.conf. Redis itself rewrites the file when it is promoted or demoted. */
export type NodeSettings = {
  readonly folder: string
  readonly kind: 'server' | 'sentinel'
  readonly lines: (port: number) => readonly string[]
  /** User and password of `ask`. */
  readonly login?: readonly string[]
}

export function startRedisNode(settings: NodeSettings): Promise<RedisNode> {
  return onFreePort(async (port) => {
    const node = createNode(settings, port)
    await node.start()
    return node
  })
}

function createNode({ folder, kind, lines, login = [] }: NodeSettings, port: number): RedisNode {
  const file = join(folder, `${kind}-${port}.conf`)
  const common = [`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, `logfile ${kind}-${port}.log`]
  writeFileSync(file, [...common, ...lines(port), ''].join('\n'))
  let child: ChildProcess | null = null
  const ask = async (...command: string[]) => {
    const args = ['-p', String(port), '--no-auth-warning', ...login, ...command]
    const { stdout } = await promisify(execFile)('redis-cli', args, { timeout: 5_000 }).catch(() => ({ stdout: '' }))
    return stdout.trim()
  }
  return {
    port,
    ask,
    start: async () => {
      if (child !== null) return
      const started = spawnTied('KILL', 'redis-server', [file, ...(kind === 'sentinel' ? ['--sentinel'] : [])], {
        stdio: 'ignore',
      })
      child = started
      for (; (await ask('ping')) !== 'PONG'; await sleep(20)) {
        if (started.exitCode !== null)
          throw new Error(`EADDRINUSE: Redis ended, probably because port ${port} is taken`)
      }
    },
    kill: async () => {
      if (child === null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      child = null
    },
    freeze: () => child?.kill('SIGSTOP'),
    thaw: () => child?.kill('SIGCONT'),
    pids: () => (child?.pid === undefined ? [] : [child.pid]),
  }
}

/** The replica of a lagging master misses what is written from now on: it cannot log in to the master any more. */
export async function cutReplication(replica: RedisNode): Promise<void> {
  await replica.ask('config', 'set', 'masteruser', 'nobody', 'masterauth', 'wrong')
  await replica.ask('client', 'kill', 'type', 'master')
}

export async function restoreReplication(node: RedisNode): Promise<void> {
  await node.ask('config', 'set', 'masteruser', '', 'masterauth', '')
}

/** `master`, or `slave connected` and other states of the replication. */
export async function roleOf(node: RedisNode): Promise<string> {
  const [role = '', , , state = ''] = (await node.ask('role')).split('\n')
  return role === 'slave' ? `slave ${state}` : role
}
