/** How long a token set lasts, in days, as the consent pages say it. docs/interface.md, "The life of a token set". */
import type { Config } from '../../config.ts'

const DAY_MS = 86_400_000

export type AccessLifetimes = {
  /** After so many days without use a token set ends. */
  readonly unusedDays: number
  /** After so many days it ends in any case. */
  readonly maxDays: number
}

export function accessLifetimes(config: Pick<Config, 'refreshTokenLifetimeMs' | 'grantLifetimeMs'>): AccessLifetimes {
  const days = (ms: number) => Math.max(1, Math.round(ms / DAY_MS))
  return { unusedDays: days(config.refreshTokenLifetimeMs), maxDays: days(config.grantLifetimeMs) }
}
