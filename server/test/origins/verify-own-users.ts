/**
 * npm run verify -- own-users [--rounds N]: users sign in at the example service (examples/own-users) or at an account's identity
 * provider, in real Chromium, and connect a device. Then the permission is taken away there, and every process and the API refuse
 * within two seconds. docs/guides/your-own-users.md, docs/guides/identity-provider.md.
 */
import { parseArgs } from 'node:util'
import { startChromium } from '../rig/browser/chromium.ts'
import { openHarness } from './harness.ts'
import { hostRounds } from './host-rounds.ts'
import { providerRounds } from './provider-rounds.ts'
import type { Watched } from './watch.ts'

const LIMIT_SECONDS = 2

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } })
const rounds = Number(values.rounds)
if (!(Number.isInteger(rounds) && rounds > 0)) throw new Error('--rounds takes a number')

const KINDS = ['permission', 'scim', 'dismissed', 'logout'] as const
type Kind = (typeof KINDS)[number]

const [host, provider, chromium] = await Promise.all([openHarness('host'), openHarness('provider'), startChromium()])
const [atHost, atProvider] = [await hostRounds(host, chromium), await providerRounds(provider, chromium)]
const watched: Record<Kind, Watched[]> = { permission: [], scim: [], dismissed: [], logout: [] }
const problems: string[] = []
try {
  for (let round = 1; round <= rounds; round += 1) {
    for (const kind of KINDS) {
      const seen =
        kind === 'permission' || kind === 'dismissed' ? await atHost.round(kind) : await atProvider.round(kind)
      watched[kind].push(seen)
      problems.push(...seen.problems.map((problem) => `round ${round}, ${kind}: ${problem}`))
      if (seen.seconds > LIMIT_SECONDS)
        problems.push(`round ${round}, ${kind}: ${seen.slowest} took ${seen.seconds.toFixed(2)} s`)
    }
  }
  for (const kind of KINDS) console.log(`own-users: change=${kind} ${figuresOf(watched[kind])}`)
  for (const problem of problems.slice(0, 20)) console.error(`own-users: ${problem}`)
  const every = KINDS.flatMap((kind) => watched[kind])
  console.log(`own-users: processes=${host.addresses.length} ${figuresOf(every)} problems=${problems.length}`)
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  await chromium.close()
  await atProvider.end()
  await Promise.all([host.end(), provider.end()])
}

/** Seconds from the beginning of the change until the slowest place refused. */
function figuresOf(seen: readonly Watched[]): string {
  const sorted = seen.map(({ seconds }) => seconds).sort((a, b) => a - b)
  const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2)
  const places = seen.reduce((total, each) => total + each.places, 0)
  return `changes=${seen.length} places=${places} p50_seconds=${at(0.5)} max_seconds=${at(1)}`
}
