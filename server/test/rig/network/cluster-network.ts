/** Machines as network namespaces on one bridge, between which packets can be dropped in either direction. Needs root. */
import { execFileSync } from 'node:child_process'

export type ClusterNetwork = {
  /** Of the first three bytes of every address: `10.77.3`. */
  readonly prefix: string
  readonly namespaces: readonly string[]
  readonly hub: string
  /** Drops what the machine receives from all others, what it sends to them, or both. The outside still reaches it. */
  cut(machine: number, direction: 'input' | 'output' | 'both'): void
  mend(machine: number): void
  remove(): void
}

const OUTSIDE = 254

export function openClusterNetwork(machines: number): ClusterNetwork {
  const name = `lk${process.pid}`
  const prefix = `10.77.${process.pid % 250}`
  const hub = `${name}h`
  const namespaces = Array.from({ length: machines }, (_, at) => `${name}n${at + 1}`)
  ip('netns', 'add', hub)
  within(hub, 'ip', 'link', 'add', 'bridge', 'type', 'bridge')
  within(hub, 'ip', 'addr', 'add', `${prefix}.1/24`, 'dev', 'bridge')
  within(hub, 'ip', 'link', 'set', 'bridge', 'up')
  namespaces.forEach((namespace, at) => {
    ip('netns', 'add', namespace)
    ip('link', 'add', `port${at + 1}`, 'netns', hub, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace)
    within(hub, 'ip', 'link', 'set', `port${at + 1}`, 'master', 'bridge', 'up')
    within(namespace, 'ip', 'addr', 'add', `${prefix}.${11 + at}/24`, 'dev', 'eth0')
    for (const device of ['lo', 'eth0']) within(namespace, 'ip', 'link', 'set', device, 'up')
  })
  ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'outside', 'netns', hub)
  within(hub, 'ip', 'link', 'set', 'outside', 'master', 'bridge', 'up')
  ip('addr', 'add', `${prefix}.${OUTSIDE}/24`, 'dev', name)
  ip('link', 'set', name, 'up')
  const namespaceOf = (machine: number) => namespaces[machine] ?? ''
  const others = `{ ${prefix}.1, ${namespaces.map((_, at) => `${prefix}.${11 + at}`).join(', ')} }`
  const drop = (machine: number, hook: 'input' | 'output') => {
    const address = hook === 'input' ? 'saddr' : 'daddr'
    const own = `${prefix}.${11 + machine}`
    const rules = `table ip cut_${hook} { chain dropped { type filter hook ${hook} priority 0; ip saddr ${own} ip daddr ${own} accept; ip ${address} ${others} drop; }\n}\n`
    execFileSync('ip', ['netns', 'exec', namespaceOf(machine), 'nft', '-f', '-'], { input: rules })
  }
  let removed = false
  const remove = () => {
    if (removed) return
    removed = true
    for (const each of [...namespaces, hub]) ip('netns', 'del', each)
  }
  process.once('exit', remove)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  return {
    prefix,
    namespaces,
    hub,
    cut: (machine, direction) => {
      if (direction !== 'output') drop(machine, 'input')
      if (direction !== 'input') drop(machine, 'output')
    },
    mend: (machine) => within(namespaceOf(machine), 'nft', 'flush', 'ruleset'),
    remove,
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

function within(namespace: string, ...command: string[]): void {
  ip('netns', 'exec', namespace, ...command)
}
