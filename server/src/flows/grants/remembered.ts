/** Storage of the grant cache: looked up by a credential's grant secret, invalidated by the ids in the feed. */

import type { GrantChange } from '../../store/grants/changes.ts'
import type { GrantState } from '../../store/grants/grants.ts'

export type Remembered = { readonly state: GrantState; readonly readAt: number }

export type RememberedGrants = {
  get(grantSecret: string): Remembered | undefined
  set(grantSecret: string, entry: Remembered): void
  forget(change: GrantChange): void
  clear(): void
}

/** An entry takes about a kilobyte. */
export const MAX_REMEMBERED = 20_000

export function createRemembered(): RememberedGrants {
  const bySecret = new Map<string, Remembered>()
  const secretOf = new Map<string, string>()

  const remove = (grantSecret: string) => {
    const grantId = bySecret.get(grantSecret)?.state.grant.id
    bySecret.delete(grantSecret)
    if (grantId !== undefined) secretOf.delete(grantId)
  }

  return {
    get: (grantSecret) => bySecret.get(grantSecret),
    set: (grantSecret, entry) => {
      if (bySecret.size >= MAX_REMEMBERED) remove(bySecret.keys().next().value ?? '')
      bySecret.set(grantSecret, entry)
      secretOf.set(entry.state.grant.id, grantSecret)
    },
    forget: (change) => {
      if ('grantId' in change) {
        remove(secretOf.get(change.grantId) ?? '')
        return
      }
      for (const [grantSecret, { state }] of bySecret) {
        const { userId, accountId, applicationId } = state.grant
        if (
          ('userId' in change && change.userId === userId) ||
          ('accountId' in change && change.accountId === accountId) ||
          ('applicationId' in change && change.applicationId === applicationId)
        ) {
          remove(grantSecret)
        }
      }
    },
    clear: () => {
      bySecret.clear()
      secretOf.clear()
    },
  }
}
