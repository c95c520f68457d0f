/** Model of the query in store/reviews/evidence.ts: aggregates codes into windows, by the accounts that granted them. */
import { markOverloads, type Overloads, spanOf } from '../../src/core/reviews/evidence.ts'
import type { Evidence, Thresholds, WindowCounts } from '../../src/core/reviews/suspension.ts'

const DAY_MS = 24 * 60 * 60_000

/** A code and its outcome. */
export type Observation = {
  /** Null: not granted. */
  readonly grantedAt: number | null
  readonly accountId: string
  readonly accountCreatedAt: number
  /** Granted at the account that registered the application; test mode decides as a user of it, too. */
  readonly own: boolean
  /** Network that requested the code (core/network.ts). */
  readonly network: string | null
  /** How often its polls were answered slow_down. */
  readonly earlyPolls: number
}

export type GatherOptions = Overloads & {
  readonly now: number
  /** Earlier grants are left out: a decision has already covered them. */
  readonly since: number
}

export function gatherWindows(
  observations: Iterable<Observation>,
  options: GatherOptions,
  thresholds: Thresholds,
): Pick<Evidence, 'windows' | 'touched'> {
  const span = spanOf(options.now, thresholds)
  const gathered = Array.from({ length: thresholds.windows }, () => ({ good: emptySets(), any: emptySets() }))
  const touched = new Set<string>()
  for (const code of observations) {
    const { grantedAt } = code
    if (grantedAt === null || grantedAt < Math.max(span.from, options.since)) continue
    const sets = gathered[Math.floor((grantedAt - span.from) / span.windowMs)]
    if (!sets) continue
    const ignored = code.earlyPolls >= thresholds.earlyPolls
    addTo(sets.any, code, ignored)
    if (isEstablished(code, grantedAt, thresholds)) addTo(sets.good, code, ignored)
    if (ignored) touched.add(code.accountId)
  }
  const windows = gathered.map(({ good, any }, index) => ({
    startsAt: span.from + index * span.windowMs,
    ...countsOf(good),
    anyAccount: countsOf(any),
  }))
  return { windows: markOverloads(windows, options, span.windowMs), touched: touched.size }
}

function isEstablished(
  { own, accountCreatedAt }: Pick<Observation, 'own' | 'accountCreatedAt'>,
  grantedAt: number,
  { accountAgeDays }: Thresholds,
): boolean {
  return !own && grantedAt - accountCreatedAt >= accountAgeDays * DAY_MS
}

type Sets = { readonly granted: Set<string>; readonly ignoring: Set<string>; readonly networks: Set<string> }

function emptySets(): Sets {
  return { granted: new Set(), ignoring: new Set(), networks: new Set() }
}

function addTo(sets: Sets, { accountId, network }: Observation, ignored: boolean): void {
  sets.granted.add(accountId)
  if (!ignored) return
  sets.ignoring.add(accountId)
  if (network !== null) sets.networks.add(network)
}

function countsOf({ granted, ignoring, networks }: Sets): WindowCounts {
  return { grantedAccounts: granted.size, ignoringAccounts: ignoring.size, ignoringNetworks: networks.size }
}
