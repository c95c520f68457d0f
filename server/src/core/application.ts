/** An application: what a third party registered, as the flows need it. docs/interface.md, "Application credentials". */
import type { ScopePolicy } from './scope.ts'

export type ApplicationSecret = { readonly id: string; readonly keyId: number; readonly digest: Buffer }

export type Application = ScopePolicy & {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly deviceFlow: boolean
  readonly suspended: boolean
  readonly deleted: boolean
  /** Live secrets only. */
  readonly secrets: readonly ApplicationSecret[]
}

/** So that a fleet can move from one secret to the next without a gap, and no further. */
export const MOST_LIVE_SECRETS = 3
