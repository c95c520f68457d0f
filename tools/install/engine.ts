/**
 * Debian's Docker engine with all its files in one folder. It runs twice: with the network of this machine, to build images, and then
 * with a network namespace of its own, which has a loopback interface and Docker's bridges and no way out, to run them.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { removeFolder } from '../remove-folder.ts'
import { createShell, type Shell } from './shell.ts'

export type Engine = {
  /** Runs `docker`, `docker-compose` and `curl` where the engine runs. */
  readonly shell: Shell
  stop(): Promise<void>
}

const START_MS = 60_000
const STOP_MS = 30_000

export async function startEngine(folder: string, network: 'machine' | 'own', cwd: string): Promise<Engine> {
  mkdirSync(folder, { recursive: true })
  const socket = join(folder, 'docker.sock')
  const log = openSync(join(folder, 'log'), 'a')
  const files = `--data-root ${folder}/data --exec-root ${folder}/exec --pidfile ${folder}/pid --host unix://${socket}`
  const command =
    network === 'machine'
      ? `exec dockerd ${files} --iptables=false --bridge=none`
      : `exec unshare --net sh -c 'ip link set lo up && exec dockerd ${files}'`
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', log, log], detached: true })
  await untilItAnswers(child, socket)
  const env = {
    ...process.env,
    DOCKER_HOST: `unix://${socket}`,
    // Debian's engine comes without BuildKit's client.
    DOCKER_BUILDKIT: '0',
    COMPOSE_PROJECT_NAME: 'latchkey',
  }
  const words = network === 'machine' ? [] : ['nsenter', `--net=/proc/${child.pid}/ns/net`]
  return { shell: createShell([...words, 'bash', '-c'], { cwd, env }), stop: () => stop(child) }
}

async function untilItAnswers(child: ChildProcess, socket: string): Promise<void> {
  const docker = createShell(['bash', '-c'])
  for (const until = Date.now() + START_MS; ; await sleep(200)) {
    if (child.exitCode !== null) throw new Error('dockerd did not start; see its log')
    try {
      if (existsSync(socket)) await docker(`docker --host unix://${socket} version`)
      if (existsSync(socket)) return
    } catch (error) {
      if (Date.now() > until) throw error
    }
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const killing = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await ended
  clearTimeout(killing)
}

/** Removes the folder of a stopped engine, after what it left mounted there. */
export function removeEngine(folder: string): void {
  const mounted = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
  // Within others first.
  for (const each of mounted.filter((path) => path.startsWith(`${folder}/`)).reverse()) execFileSync('umount', [each])
  removeFolder(folder)
}
