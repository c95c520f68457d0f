/** Three servers, one of them the master, and three sentinels, on free ports, with the passwords that REDIS_URL has to name. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { cutReplication, type RedisNode, restoreReplication, roleOf, startRedisNode } from './redis-node.ts'
import type { ReplicatedRedis } from './replicated-redis.ts'

const GROUP = 'mymaster'
const PASSWORD = 'p@ss/word'
const SENTINEL_PASSWORD = 'watch&tell'

/** How sentinels find out that a server lives, and make it a replica. */
const SENTINEL_COMMANDS = ['ping', 'info', 'multi', 'replicaof', 'slaveof']

/**
 * Milliseconds. Sentinels ask servers for their state every second, not every ten, and make a returned master a replica after four
 * seconds (four `publish-period`), not eight. When the machine stood still they trust the clock again after one second, not thirty:
 * by then a replica whose replication is cut would be too old to be promoted, for ever.
 */
const SENTINEL_PERIODS = ['info-period', '1000', 'publish-period', '1000', 'tilt-period', '1000']

/** Two users of the service: one can be disconnected without the other. */
export type RedisUser = 'first' | 'second'

export type SentinelRedis = ReplicatedRedis & {
  readonly sentinels: readonly RedisNode[]
  urlAs(user: RedisUser): string
  /** The sentinels and the replicas do not see this master any more; clients do. */
  hideFromSentinels(master: RedisNode): Promise<void>
}

export async function startSentinelRedis(): Promise<SentinelRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-sentinel-'))
  const users = ['first', 'second', 'watcher'].map((name) => `user ${name} on >${PASSWORD} ~* &* +@all`)
  const startServer = (master?: RedisNode) =>
    startRedisNode({
      folder,
      kind: 'server',
      lines: () => [
        'save ""',
        'repl-diskless-sync-delay 0',
        ...users,
        ...(master ? [`replicaof 127.0.0.1 ${master.port}`] : []),
      ],
    })
  const first = await startServer()
  const servers = [first, ...(await Promise.all([startServer(first), startServer(first)]))]
  const sentinels = await Promise.all(
    [1, 2, 3].map(() =>
      startRedisNode({
        folder,
        kind: 'sentinel',
        lines: () => [
          `requirepass "${SENTINEL_PASSWORD}"`,
          `sentinel sentinel-pass "${SENTINEL_PASSWORD}"`,
          `sentinel monitor ${GROUP} 127.0.0.1 ${first.port} 2`,
          `sentinel auth-user ${GROUP} watcher`,
          `sentinel auth-pass ${GROUP} ${PASSWORD}`,
          `sentinel down-after-milliseconds ${GROUP} 1000`,
          `sentinel failover-timeout ${GROUP} 3000`,
        ],
        login: ['-a', SENTINEL_PASSWORD],
      }),
    ),
  )
  for (const each of sentinels) await each.ask('sentinel', 'debug', ...SENTINEL_PERIODS)
  const master = async () => {
    for (;;) {
      const ports = await Promise.all(
        sentinels.map(async (each) => (await each.ask('sentinel', 'get-master-addr-by-name', GROUP)).split('\n')[1]),
      )
      const named = servers.find(({ port }) => ports.every((each) => each === String(port)))
      if (named) return named
      await sleep(50)
    }
  }
  /** Every sentinel knows the two others and both replicas: before that, none starts a failover. */
  const known = async () => {
    for (const sentinel of sentinels) {
      while (!/^OK 3 usable/.test(await sentinel.ask('sentinel', 'ckquorum', GROUP))) await sleep(50)
      const lines = async () => (await sentinel.ask('sentinel', 'master', GROUP)).split('\n')
      const replicas = async () => (await lines().then((all) => all[all.indexOf('num-slaves') + 1])) ?? ''
      while (Number(await replicas()) < servers.length - 1) await sleep(50)
    }
  }
  const heal = async () => {
    for (const each of servers) {
      each.thaw()
      await each.start()
      await restoreReplication(each)
      await each.ask('acl', 'setuser', 'watcher', 'on')
      await each.ask('acl', 'setuser', 'default', '+@all')
    }
    for (;;) {
      const leader = await master()
      const roles = await Promise.all(servers.map(roleOf))
      if (roles.every((role, index) => role === (servers[index] === leader ? 'master' : 'slave connected'))) break
      await sleep(100)
    }
    await known()
  }
  await heal()
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')
  const urlAs = (user: RedisUser) =>
    `redis+sentinel://${user}:${encodeURIComponent(PASSWORD)}@${hosts}/${GROUP}/0?sentinel_password=${encodeURIComponent(SENTINEL_PASSWORD)}`
  return {
    url: urlAs('first'),
    urlAs,
    sentinels,
    masters: async () => [await master()],
    lag: async () => {
      const leader = await master()
      await Promise.all(servers.filter((each) => each !== leader).map(cutReplication))
      return leader
    },
    hideFromSentinels: async (leader) => {
      await leader.ask('acl', 'setuser', 'watcher', 'off')
      // A sentinel that cannot log in goes on as the default user.
      await leader.ask('acl', 'setuser', 'default', ...SENTINEL_COMMANDS.map((command) => `-${command}`))
      await leader.ask('client', 'kill', 'user', 'watcher')
    },
    promotedAfter: async (before) => {
      for (;;) {
        const now = await master()
        if (now !== before && (await roleOf(now)) === 'master') return now
        await sleep(50)
      }
    },
    heal,
    stop: async () => {
      await Promise.all([...sentinels, ...servers].map((each) => each.kill()))
      removeFolder(folder)
    },
  }
}
