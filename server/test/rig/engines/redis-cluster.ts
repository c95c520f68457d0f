/** A real cluster of three masters, on free ports, for as long as the tests run. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, onFreePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { spawnTied } from '../process/tied-process.ts'

export type TestCluster = { readonly url: string; stop(): Promise<void> }

export async function startCluster(): Promise<TestCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-cluster-'))
  const nodes = await Promise.all([1, 2, 3].map(() => startNode(folder)))
  const addresses = nodes.map((node) => `127.0.0.1:${node.port}`)
  execFileSync('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-replicas', '0', '--cluster-yes'])
  const [first] = nodes
  while (!cli(first?.port ?? 0, 'cluster', 'info').includes('cluster_state:ok')) await sleep(50)
  return {
    url: `redis+cluster://${addresses[0]}`,
    stop: async () => {
      for (const { process: node } of nodes) node.kill('SIGKILL')
      removeFolder(folder)
    },
  }
}

const startNode = (folder: string) => onFreePort((port) => startNodeAt(folder, port))

async function startNodeAt(folder: string, port: number) {
  const settings = {
    port,
    'cluster-port': await freePort(),
    bind: '127.0.0.1',
    dir: folder,
    'cluster-enabled': 'yes',
    'cluster-config-file': `nodes-${port}.conf`,
    save: '',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawnTied('KILL', 'redis-server', args, { stdio: 'ignore' })
  for (; cli(port, 'ping').trim() !== 'PONG'; await sleep(20)) {
    if (child.exitCode !== null) throw new Error(`EADDRINUSE: Redis ended, probably because port ${port} is taken`)
  }
  return { port, process: child }
}

function cli(port: number, ...command: string[]): string {
  try {
    return execFileSync('redis-cli', ['-p', String(port), ...command], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return ''
  }
}
