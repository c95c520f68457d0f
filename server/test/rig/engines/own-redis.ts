/** A Redis of its own for a test that must not hear what others publish. It ends with the process that started it. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { onFreePort } from '../../../../tools/free-port.ts'
import { spawnTied } from '../process/tied-process.ts'

export type OwnRedis = { readonly port: number; readonly url: string; stop(): Promise<void> }

export const startOwnRedis = (): Promise<OwnRedis> => onFreePort(startRedisAt)

export async function startRedisAt(port: number): Promise<OwnRedis> {
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const child = spawnTied('KILL', 'redis-server', settings, { stdio: 'ignore' })
  const exited = once(child, 'exit')
  for (; !(await accepts(port)); await sleep(20)) {
    if (child.exitCode !== null) throw new Error(`EADDRINUSE: Redis ended, probably because port ${port} is taken`)
  }
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return connected
}
