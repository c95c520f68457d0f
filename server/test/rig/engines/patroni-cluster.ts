/** Three PostgreSQL servers with Patroni, etcd, and HAProxy in front, with the files under deploy/. Needs root. */
import type { ChildProcess } from 'node:child_process'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { type ClusterNetwork, openClusterNetwork } from '../network/cluster-network.ts'
import { spawnTied } from '../process/tied-process.ts'

export type Role = 'leader' | 'sync_standby' | 'replica'

export type Machine = {
  readonly number: number
  /** Directly to its PostgreSQL. */
  readonly url: string
  readonly rest: string
  start(): void
  /** As a power failure: PostgreSQL and Patroni at once. */
  kill(): Promise<void>
  freeze(): void
  thaw(): void
}

export type PatroniCluster = {
  /** Through HAProxy. */
  readonly url: string
  readonly machines: readonly Machine[]
  readonly etcd: { freeze(): void; thaw(): void }
  readonly network: ClusterNetwork
  /** Null: no machine answers as the primary. */
  leader(): Promise<Machine | null>
  /** What Patroni knows of its members, by machine; empty if no machine answers. */
  roles(): Promise<ReadonlyMap<number, Role>>
  remove(): Promise<void>
}

const PROGRAMS = { patroni: '/usr/bin/patroni', 'etcd-server': '/usr/bin/etcd', haproxy: '/usr/sbin/haproxy' }
const deployedAt = (path: string) => join(import.meta.dirname, '../../../../deploy', path)
const deployed = (path: string) => readFileSync(deployedAt(path), 'utf8')

/** The Debian packages that are missing. */
export function missingPackages(): readonly string[] {
  const programs = Object.entries({ ...PROGRAMS, nftables: '/usr/sbin/nft' })
  return programs.filter(([, program]) => !existsSync(program)).map(([name]) => name)
}

const MACHINES = [1, 2, 3]

/** Before a command: a shell is the first process of the namespace. Patroni as the first one may deadlock (patroni#3413). */
const BELOW_INIT = ['sh', '-c', '"$@" & wait', 'sh']

export async function startPatroniCluster(): Promise<PatroniCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-patroni-'))
  chmodSync(folder, 0o755)
  const network = openClusterNetwork(MACHINES.length)
  const { prefix, namespaces, hub } = network
  const own = (name: string) => {
    const path = join(folder, name)
    mkdirSync(path, { mode: 0o700 })
    execFileSync('chown', ['postgres', path])
    return path
  }
  const output = (name: string) => openSync(join(folder, `${name}.log`), 'a')
  // Becoming another user clears the signal by which a process ends with its parent, so it is set again.
  const asPostgres = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', '--pdeathsig=KILL']
  /** In a process namespace of its own: nothing outlives it, also not the PostgreSQL of a killed Patroni. */
  const startIn = (namespace: string, name: string, ...command: string[]): ChildProcess => {
    const apart = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
    const log = output(name)
    const inside = [...apart, ...asPostgres, ...BELOW_INIT, ...command]
    return spawnTied('KILL', 'ip', ['netns', 'exec', namespace, ...inside], { cwd: '/', stdio: ['ignore', log, log] })
  }

  const at = `http://${prefix}.1:2379`
  const peers = [
    '--listen-peer-urls',
    'http://127.0.0.1:2380',
    '--initial-advertise-peer-urls',
    'http://127.0.0.1:2380',
  ]
  const clients = ['--listen-client-urls', at, '--advertise-client-urls', at]
  execFileSync('ip', ['netns', 'exec', hub, 'ip', 'link', 'set', 'lo', 'up'])
  const member = ['--name', 'etcd', '--initial-cluster', 'etcd=http://127.0.0.1:2380', '--data-dir', own('etcd')]
  const etcd = startIn(hub, 'etcd-server', PROGRAMS['etcd-server'], ...member, ...peers, ...clients, '--enable-v2')

  for (const namespace of namespaces) {
    execFileSync('ip', ['netns', 'exec', namespace, 'sysctl', '--quiet', '--load', deployedAt('patroni/sysctl.conf')])
  }
  const machines = MACHINES.map((number): Machine => {
    const address = `${prefix}.${10 + number}`
    const name = `node${number}`
    const data = own(name)
    const file = join(folder, `${name}.yaml`)
    const settings = deployed('patroni/patroni.yaml')
      .replaceAll('node1', name)
      .replaceAll('10.0.0.11', address)
      .replace(/hosts: .*/, `hosts: ${prefix}.1:2379`)
      .replaceAll('10.0.0.', `${prefix}.`)
      .replaceAll('scram-sha-256', 'trust')
      .replace('/var/lib/postgresql/15/latchkey', join(data, 'data'))
      .replace('/var/run/postgresql', data)
    writeFileSync(file, settings, { mode: 0o644 })
    let running: ChildProcess | null = null
    return {
      number,
      url: `postgres://postgres@${address}:5432/latchkey`,
      rest: `http://${address}:8008`,
      start: () => {
        running ??= startIn(namespaces[number - 1] ?? '', name, 'env', `HOME=${data}`, PROGRAMS.patroni, file)
      },
      kill: async () => {
        if (running) await end(running)
        running = null
      },
      freeze: () => signalTree(running, 'SIGSTOP'),
      thaw: () => signalTree(running, 'SIGCONT'),
    }
  })

  const port = await freePort()
  const front = join(folder, 'haproxy.cfg')
  writeFileSync(
    front,
    deployed('haproxy/postgresql.cfg').replaceAll('10.0.0.', `${prefix}.`).replaceAll(':5000', `:${port}`),
  )
  const haproxy = spawnTied('KILL', PROGRAMS.haproxy, ['-db', '-f', front], {
    stdio: ['ignore', output('haproxy'), output('haproxy')],
  })

  const leader = async () => {
    const answers = machines.map(async (machine) => ((await ask(`${machine.rest}/primary`)) ? machine : null))
    return (await Promise.all(answers)).find((machine) => machine !== null) ?? null
  }
  const remove = async () => {
    for (const machine of machines) await machine.kill()
    for (const each of [etcd, haproxy]) await end(each)
    network.remove()
    removeFolder(folder)
  }
  const cluster: PatroniCluster = {
    url: `postgres://postgres@127.0.0.1:${port}/latchkey`,
    machines,
    etcd: { freeze: () => signalTree(etcd, 'SIGSTOP'), thaw: () => signalTree(etcd, 'SIGCONT') },
    network,
    leader,
    roles: async () => {
      for (const { rest } of machines) {
        const known = await ask(`${rest}/cluster`)
        const members: { name: string; role: Role; state: string }[] = (known && JSON.parse(known).members) || []
        const healthy = members.filter(({ state }) => state === 'running' || state === 'streaming')
        if (healthy.length > 0) return new Map(healthy.map(({ name, role }) => [Number(name.slice(4)), role]))
      }
      return new Map()
    },
    remove,
  }
  try {
    machines[0]?.start()
    await untilTrue(async () => (await leader()) !== null, 300_000, 'a first primary')
    for (const machine of machines) machine.start()
    await untilTrue(() => isWhole(cluster), 300_000, 'two standbys')
    return cluster
  } catch (error) {
    console.error(
      execFileSync('tail', ['-n', '15', join(folder, 'node1.log'), join(folder, 'etcd-server.log')]).toString(),
    )
    await remove()
    throw error
  }
}

/** A leader, a synchronous and an asynchronous standby, all of them running. */
export async function isWhole({ roles }: Pick<PatroniCluster, 'roles'>): Promise<boolean> {
  return [...(await roles()).values()].sort().join() === 'leader,replica,sync_standby'
}

export async function untilTrue(check: () => Promise<boolean>, withinMs: number, what: string): Promise<void> {
  for (const until = performance.now() + withinMs; !(await check()); await sleep(100)) {
    if (performance.now() > until) throw new Error(`no ${what} within ${withinMs / 1000} s`)
  }
}

async function ask(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(3_000) })
    return response.ok ? await response.text() : null
  } catch {
    return null
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  // With the first process of a process namespace, all others in it end.
  const [first = child.pid ?? 0] = descendants(child.pid ?? 0)
  process.kill(first, 'SIGKILL')
  await exited
}

/** Orphans in a process namespace belong to its first process, so the children of children are all there are. */
function signalTree(child: ChildProcess | null, signal: NodeJS.Signals): void {
  if (!child?.pid) return
  for (const pid of descendants(child.pid)) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

function descendants(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  const children = existsSync(file) ? readFileSync(file, 'utf8').split(' ').filter(Boolean).map(Number) : []
  return children.flatMap((each) => [each, ...descendants(each)])
}
