/** Events of a PostgreSQL cluster: each breaks it, repairs it, and names the faults that it is an example of. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Machine, type PatroniCluster, untilTrue } from '../../rig/engines/patroni-cluster.ts'
import { runStatements } from '../../rig/engines/postgres-programs.ts'

/** Returns the problems that it saw. `random` is from 0 to 1. */
type Event = (cluster: PatroniCluster, leader: Machine, random: number) => Promise<readonly string[]>

const NONE: readonly string[] = []

/** Longer than Patroni's ttl and the time to promote, on a busy machine, too. */
const REPLACED_WITHIN_MS = 60_000

/** Waits until another machine is the primary. */
function untilReplaced(cluster: PatroniCluster, { number }: Machine): Promise<void> {
  const replaced = async () => ((await cluster.leader())?.number ?? number) !== number
  return untilTrue(replaced, REPLACED_WITHIN_MS, 'other primary')
}

async function standbyOf(cluster: PatroniCluster): Promise<Machine> {
  const roles = await cluster.roles()
  const standby = cluster.machines.find(({ number }) => roles.get(number) === 'sync_standby')
  if (!standby) throw new Error('no synchronous standby')
  return standby
}

/** A write on a server that is no longer the primary, past HAProxy. It may fail or hang, but not succeed. */
async function writesAlone({ url }: Machine): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000, query_timeout: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select pg_logical_emit_message(true, $1, $1)', ['split'])
    return ['a primary that was replaced confirmed a commit']
  } catch {
    return NONE
  } finally {
    await client.end().catch(() => {})
  }
}

const cut =
  (direction: 'input' | 'output' | 'both'): Event =>
  async (cluster, leader) => {
    cluster.network.cut(leader.number - 1, direction)
    try {
      await untilReplaced(cluster, leader)
      return await writesAlone(leader)
    } finally {
      cluster.network.mend(leader.number - 1)
    }
  }

export const EVENTS: Readonly<Record<string, Event>> = {
  'F06 primary killed': async (cluster, leader) => {
    await leader.kill()
    try {
      await untilReplaced(cluster, leader)
    } finally {
      leader.start()
    }
    return NONE
  },
  'F07 primary frozen and woken': async (cluster, leader) => {
    leader.freeze()
    try {
      await untilReplaced(cluster, leader)
    } finally {
      leader.thaw()
    }
    return await writesAlone(leader)
  },
  'F07 primary cut off': cut('both'),
  'F07 primary hears nothing': cut('input'),
  'F07 primary is not heard': cut('output'),
  'F08 wait for the standby cancelled': async (cluster, leader, random) => {
    const standby = await standbyOf(cluster)
    standby.freeze()
    try {
      // The commits that wait stay visible on the primary, without a standby that has them.
      for (let round = 0; round < 10; round += 1) {
        await runStatements(
          leader.url,
          "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'",
        )
        await sleep(200)
      }
      if (random < 0.5) await leader.kill()
    } finally {
      standby.thaw()
      if (random < 0.5) {
        await untilReplaced(cluster, leader)
        leader.start()
      }
    }
    return NONE
  },
  'F09 synchronous standby lost': async (cluster, _, random) => {
    const standby = await standbyOf(cluster)
    if (random < 0.5) {
      await standby.kill()
      await sleep(8_000)
      standby.start()
    } else {
      standby.freeze()
      await sleep(12_000)
      standby.thaw()
    }
    return NONE
  },
  'etcd lost': async ({ etcd }, _, random) => {
    etcd.freeze()
    // Shorter than the lease of the leader, or so long that it gives up.
    await sleep(random < 0.5 ? 4_000 : 25_000)
    etcd.thaw()
    return NONE
  },
  switchover: async (cluster, leader) => {
    const standby = await standbyOf(cluster)
    const body = JSON.stringify({ leader: `node${leader.number}`, candidate: `node${standby.number}` })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${leader.rest}/switchover`, { method: 'POST', body, headers })
    await untilReplaced(cluster, leader)
    return NONE
  },
}
