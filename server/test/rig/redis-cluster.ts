/** A real cluster of three masters, on free ports, for as long as the tests run. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../tools/engine-processes.ts'

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
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startNode(folder: string) {
  const [port, busPort] = [await freePort(), await freePort()]
  const settings = {
    port,
    'cluster-port': busPort,
    bind: '127.0.0.1',
    dir: folder,
    'cluster-enabled': 'yes',
    'cluster-config-file': `nodes-${port}.conf`,
    save: '',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn('redis-server', args, { stdio: 'ignore' })
  while (cli(port, 'ping').trim() !== 'PONG') await sleep(20)
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
