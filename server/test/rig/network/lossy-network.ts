/**
 * A network namespace whose packets get lost: a process in it reaches the rest of the machine, and is reached, only over a link that drops
 * a share of them. Needs root, ip (iproute2) and nft (nftables).
 */
import { spawnSync } from 'node:child_process'

export type LossyNetwork = {
  readonly namespace: string
  /** Address of the process in the namespace, and of the rest of the machine as seen from there. */
  readonly inside: string
  readonly outside: string
  /** Of each hundred packets, in each direction. */
  lose(percent: number): void
  remove(): void
}

/** Null, and the reason is printed: this machine does not permit it. */
export function createLossyNetwork(): LossyNetwork | null {
  const number = process.pid % 16_384
  const namespace = `latchkey-${process.pid}`
  // Of the networks for measurements (RFC 2544), four addresses for each process.
  const address = (host: number) => `198.18.${number >> 6}.${(number & 63) * 4 + host}`
  const [outside, inside] = [address(1), address(2)]
  const link = `lk${number}`
  const remove = () => void run('ip', 'netns', 'delete', namespace)
  const within = (...command: string[]) => run('ip', 'netns', 'exec', namespace, ...command)
  const problem =
    run('ip', 'netns', 'add', namespace) ??
    run('ip', 'link', 'add', `${link}o`, 'type', 'veth', 'peer', 'name', `${link}i`, 'netns', namespace) ??
    run('ip', 'address', 'add', `${outside}/30`, 'dev', `${link}o`) ??
    run('ip', 'link', 'set', `${link}o`, 'up') ??
    within('ip', 'address', 'add', `${inside}/30`, 'dev', `${link}i`) ??
    within('ip', 'link', 'set', `${link}i`, 'up') ??
    within('ip', 'link', 'set', 'lo', 'up') ??
    within('nft', 'add table inet loss') ??
    within('nft', 'add chain inet loss in { type filter hook input priority 0; }') ??
    within('nft', 'add chain inet loss out { type filter hook output priority 0; }')
  if (problem !== null) {
    console.log(`no lossy network: ${problem}`)
    remove()
    return null
  }
  return {
    namespace,
    inside,
    outside,
    lose: (percent) => {
      const rule = (chain: string) => `add rule inet loss ${chain} numgen random mod 100 < ${percent} drop`
      const wrong = within('nft', 'flush table inet loss') ?? within('nft', rule('in')) ?? within('nft', rule('out'))
      if (wrong !== null) throw new Error(wrong)
    },
    remove,
  }
}

/** Null if the command succeeded, otherwise what it said. */
function run(program: string, ...args: string[]): string | null {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  return status === 0 ? null : `${program} ${args.join(' ')}: ${error?.message ?? stderr.trim()}`
}
