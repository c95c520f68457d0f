/**
 * Lifetime of a token set in days, as the consent pages show it.
 * docs/interface/credentials.md, "The life of a token set".
 */
import type { Config } from '../../config.ts'

const DAY_MS = 86_400_000

export type AccessLifetimes = {
  /** A token set ends after this many days without use. */
  readonly unusedDays: number
  /** A token set ends after this many days in any case. */
  readonly maxDays: number
}

export function accessLifetimes(config: Pick<Config, 'refreshTokenLifetimeMs' | 'grantLifetimeMs'>): AccessLifetimes {
  const days = (ms: number) => Math.max(1, Math.round(ms / DAY_MS))
  return { unusedDays: days(config.refreshTokenLifetimeMs), maxDays: days(config.grantLifetimeMs) }
}
