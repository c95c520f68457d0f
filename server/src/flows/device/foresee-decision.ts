/** Forecast of what a user would see on entering a code now, for an operator who helps them. Reads only. */
import { claim } from '../../core/device/code.ts'
import { mayGrant, type Prevention } from '../../core/grants/granting.ts'
import { readUser } from '../../store/accounts/users.ts'
import type { Found } from '../../store/device/codes.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import { readFacts } from '../grants/granting-facts.ts'
import { entrantOf, type PersonSettings } from './claim-code.ts'

export type ForeseenDecision = {
  /**
   * `accepted`: the user gets the consent page, or has it already. `moves`: also, from another account of the same person, if
   * they signed in with what proves that. `taken`: another user of the account has claimed the code. `closes`: the code was
   * entered in another account, and entering it here would close it. `barred`: the account's rules or test mode forbid it, or
   * the user is disabled.
   */
  readonly entry: 'accepted' | 'moves' | 'taken' | 'closes' | 'not_open' | 'barred'
  /** The scopes that this user would grant, even if another user has claimed the code. */
  readonly granted: readonly string[]
  readonly lacking: readonly string[]
  /** Why the consent page would not offer Allow to this user. */
  readonly prevented: Prevention | null
}

export async function foreseeDecision(
  { db, config }: { readonly db: Queryable; readonly config: PersonSettings },
  { code, now }: Found,
  userId: string,
): Promise<ForeseenDecision | null> {
  const user = await readUser(db, userId)
  const facts = await readFacts(db, { flow: 'device', ...code }, user, { kind: 'forecast' }, now)
  if (!facts) return null
  const granting = mayGrant(facts)
  if (granting.outcome === 'gone' || granting.outcome === 'barred') return BARRED
  const claimant = await readUser(db, code.claimedBy ?? '')
  const { answer } = claim(code, entrantOf(config, facts.user, code.claimedAs, claimant, code), now)
  const { granted, lacking } = granting.consent
  return { entry: ENTRIES[answer], granted, lacking, prevented: granting.outcome === 'prevented' ? granting.by : null }
}

const BARRED: ForeseenDecision = { entry: 'barred', granted: [], lacking: [], prevented: null }

const ENTRIES = {
  claimed: 'accepted',
  moved: 'moves',
  taken: 'taken',
  closed: 'closes',
  not_open: 'not_open',
} as const
