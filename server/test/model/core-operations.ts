/** Operations on one device code, as plain data that prints and shrinks well: the alphabet of the core part. */
import fc from 'fast-check'
import { KEPT_MS, LEASE_MS, REPEAT_MS, type ReferenceCode } from './reference-model.ts'

export type User = 'A' | 'B' | 'C'

/** Also a user of the same person as A. */
export type CoreUser = User | 'D'

/** A and B are colleagues. */
export const ACCOUNTS: Readonly<Record<CoreUser, string>> = { A: 'first', B: 'first', C: 'second', D: 'third' }

export const PEOPLE: Readonly<Record<CoreUser, string>> = { A: 'Ann', B: 'Ben', C: 'Cem', D: 'Ann' }

export type Key = 'k1' | 'k2' | null

/** The times at which an answer may change, and the millisecond before each. */
export type Moment =
  | 'a moment later'
  | 'just before the lease ends'
  | 'when the lease ends'
  | 'just before repeats end'
  | 'when repeats end'
  | 'just before expiry'
  | 'at expiry'
  | 'just before it is forgotten'
  | 'when it is forgotten'

export type CoreOperation =
  /** A poll with an outcome keeps its lease until a later `confirm` or `release`: without either, its process crashed. */
  | { readonly do: 'poll'; readonly early: boolean; readonly key: Key }
  /** `lease`: of the newest poll (0), or of one before it. */
  | { readonly do: 'confirm' | 'release'; readonly lease: number }
  | { readonly do: 'claim' | 'take over' | 'grant' | 'reject'; readonly user: CoreUser }
  | { readonly do: 'advance'; readonly to: Moment }

export const keys: fc.Arbitrary<Key> = fc.constantFrom(null, 'k1', 'k2')

/** Mostly A: users of two accounts close most codes, and then nothing is decided. */
export const users: fc.Arbitrary<User> = fc.oneof(
  { arbitrary: fc.constant('A' as const), weight: 7 },
  { arbitrary: fc.constantFrom('B' as const, 'C' as const), weight: 2 },
)

const coreUsers: fc.Arbitrary<CoreUser> = fc.oneof(
  { arbitrary: users, weight: 8 },
  { arbitrary: fc.constant('D' as const), weight: 1 },
)

/** Mostly short steps: a code that expires in its second operation tests little. */
const moments: fc.Arbitrary<Moment> = fc.oneof(
  { arbitrary: fc.constantFrom('a moment later' as const), weight: 3 },
  { arbitrary: fc.constantFrom('just before the lease ends' as const, 'when the lease ends' as const), weight: 8 },
  { arbitrary: fc.constantFrom('just before repeats end' as const, 'when repeats end' as const), weight: 2 },
  { arbitrary: fc.constantFrom('just before expiry' as const), weight: 2 },
  { arbitrary: fc.constantFrom('at expiry' as const), weight: 2 },
  { arbitrary: fc.constantFrom('just before it is forgotten' as const, 'when it is forgotten' as const), weight: 1 },
)

export const coreOperations: fc.Arbitrary<CoreOperation[]> = fc.array(
  fc.oneof(
    { arbitrary: fc.record({ do: fc.constant('poll' as const), early: fc.boolean(), key: keys }), weight: 10 },
    { arbitrary: fc.record({ do: fc.constant('confirm' as const), lease: fc.constantFrom(0, 0, 1, 2) }), weight: 4 },
    { arbitrary: fc.record({ do: fc.constant('release' as const), lease: fc.constantFrom(0, 0, 1, 2) }), weight: 3 },
    { arbitrary: fc.record({ do: fc.constant('claim' as const), user: coreUsers }), weight: 5 },
    { arbitrary: fc.record({ do: fc.constant('take over' as const), user: coreUsers }), weight: 2 },
    { arbitrary: fc.record({ do: fc.constant('grant' as const), user: coreUsers }), weight: 2 },
    { arbitrary: fc.record({ do: fc.constant('reject' as const), user: coreUsers }), weight: 1 },
    { arbitrary: fc.record({ do: fc.constant('advance' as const), to: moments }), weight: 5 },
  ),
  { minLength: 1, maxLength: 40, size: 'max' },
)

/** The time after the step. It never goes back. */
export function timeAt(moment: Moment, code: ReferenceCode): number {
  const leaseEnd = code.lease?.until ?? code.now
  const repeatEnd = leaseEnd - LEASE_MS + REPEAT_MS
  const target = {
    'a moment later': code.now + 1,
    'just before the lease ends': leaseEnd - 1,
    'when the lease ends': leaseEnd,
    'just before repeats end': repeatEnd - 1,
    'when repeats end': repeatEnd,
    'just before expiry': code.expiresAt - 1,
    'at expiry': code.expiresAt,
    'just before it is forgotten': code.expiresAt + KEPT_MS - 1,
    'when it is forgotten': code.expiresAt + KEPT_MS,
  }[moment]
  return Math.max(code.now, target)
}
