/** A real cluster of three masters, with a replica each if wanted, on free ports. */
import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { cutReplication, type RedisNode, restoreReplication, roleOf, startRedisNode } from './redis-node.ts'
import type { ReplicatedRedis } from './replicated-redis.ts'

const run = promisify(execFile)

export type TestCluster = ReplicatedRedis & {
  /** Moves slots from one master to another, while both are in use. */
  reshard(slots: number, from: RedisNode, to: RedisNode): Promise<void>
}

export async function startCluster(replicasEach: 0 | 1 = 0): Promise<TestCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-cluster-'))
  const nodes = await Promise.all(Array.from({ length: 3 * (1 + replicasEach) }, () => startNode(folder)))
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`)
  const replicas = ['--cluster-replicas', String(replicasEach)]
  await run('redis-cli', ['--cluster', 'create', ...addresses, ...replicas, '--cluster-yes'])

  const withRole = async (wanted: string) => {
    const roles = await Promise.all(nodes.map(roleOf))
    return nodes.filter((_, index) => roles[index] === wanted)
  }
  const isWhole = async () => {
    const states = await Promise.all(nodes.map((each) => each.ask('cluster', 'info')))
    if (!states.every((state) => state.includes('cluster_state:ok'))) return false
    return (await withRole('slave connected')).length === 3 * replicasEach
  }
  const replicaOf = async (master: RedisNode) => {
    for (const each of await withRole('slave connected')) {
      if ((await each.ask('role')).split('\n')[2] === String(master.port)) return each
    }
    throw new Error(`the master on port ${master.port} has no replica`)
  }
  const heal = async () => {
    for (const each of nodes) {
      each.thaw()
      await each.start()
      await restoreReplication(each)
    }
    while (!(await isWhole())) await sleep(50)
  }
  /** Replica of the lagging master, kept here because it cannot be looked up once its replication is cut. */
  let successor: RedisNode | null = null
  await heal()
  return {
    url: `redis+cluster://${addresses.join(',')}`,
    masters: () => withRole('master'),
    lag: async () => {
      const [master] = await withRole('master')
      if (!master) throw new Error('the cluster has no master')
      successor = await replicaOf(master)
      await cutReplication(successor)
      return master
    },
    promotedAfter: async () => {
      if (!successor) throw new Error('no master lags')
      while ((await roleOf(successor)) !== 'master') {
        await successor.ask('cluster', 'failover', 'takeover')
        await sleep(50)
      }
      return successor
    },
    reshard: async (slots, from, to) => {
      const [source, target] = await Promise.all([from, to].map((each) => each.ask('cluster', 'myid')))
      const ends = ['--cluster-from', source ?? '', '--cluster-to', target ?? '', '--cluster-slots', String(slots)]
      await run('redis-cli', ['--cluster', 'reshard', addresses[0] ?? '', ...ends, '--cluster-yes'], {
        maxBuffer: 64 * 1024 * 1024,
      })
    },
    heal,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.kill()))
      removeFolder(folder)
    },
  }
}

async function startNode(folder: string): Promise<RedisNode> {
  const busPort = await freePort()
  return startRedisNode({
    folder,
    kind: 'server',
    lines: (port) => [
      `cluster-port ${busPort}`,
      'cluster-enabled yes',
      `cluster-config-file nodes-${port}.conf`,
      'cluster-node-timeout 5000',
      'repl-diskless-sync-delay 0',
      'save ""',
    ],
  })
}
