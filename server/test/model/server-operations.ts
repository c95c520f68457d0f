/** Operations on one device code of a running server: the alphabet of the server part. */
import fc from 'fast-check'
import type { WireVariant } from '../rig/device.ts'
import { type Key, keys, type User, users } from './core-operations.ts'

export type Stranger = 'wrong secret' | 'other variant' | 'other application' | 'altered code'

export type ServerOperation =
  /** Over HTTP. `pace`: after waiting for the interval. */
  | { readonly do: 'poll'; readonly pace: boolean; readonly key: Key }
  /** A poll after the interval that waits for a decision, and a user who decides meanwhile. */
  | { readonly do: 'held poll'; readonly decision: 'grant' | 'reject'; readonly user: User }
  /** Two polls over HTTP at the same moment. */
  | { readonly do: 'poll twice at once' }
  /** A poll of an unknown code: `invalid`, without an effect. */
  | { readonly do: 'stranger'; readonly with: Stranger }
  /** A poll whose client disconnects before the answer is sent. */
  | { readonly do: 'vanish'; readonly key: Key }
  /** A poll in a process that dies before sending the answer. */
  | { readonly do: 'die'; readonly key: Key }
  | { readonly do: 'claim' | 'take over' | 'grant' | 'reject'; readonly user: User }
  | { readonly do: 'advance'; readonly to: 'when the lease ends' | 'at expiry' }

export type ServerSequence = { readonly variant: WireVariant; readonly operations: readonly ServerOperation[] }

const strangers = fc.constantFrom<Stranger>('wrong secret', 'other variant', 'other application', 'altered code')

const timeless = [
  { arbitrary: fc.record({ do: fc.constant('poll' as const), pace: fc.constant(false), key: keys }), weight: 9 },
  { arbitrary: fc.record({ do: fc.constant('poll' as const), pace: fc.constant(true), key: keys }), weight: 1 },
  {
    arbitrary: fc.record({
      do: fc.constant('held poll' as const),
      decision: fc.constantFrom('grant' as const, 'reject' as const),
      user: users,
    }),
    weight: 1,
  },
  { arbitrary: fc.record({ do: fc.constant('poll twice at once' as const) }), weight: 1 },
  { arbitrary: fc.record({ do: fc.constant('stranger' as const), with: strangers }), weight: 3 },
  { arbitrary: fc.record({ do: fc.constant('vanish' as const), key: fc.constant(null) }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant('claim' as const), user: users }), weight: 5 },
  { arbitrary: fc.record({ do: fc.constant('take over' as const), user: users }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant('grant' as const), user: users }), weight: 3 },
  { arbitrary: fc.record({ do: fc.constant('reject' as const), user: users }), weight: 1 },
]

/** Only where a sequence has a database, and so a clock, of its own: these leave a lease, whose end is waited for. */
const timed = [
  { arbitrary: fc.record({ do: fc.constant('vanish' as const), key: keys }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant('die' as const), key: keys }), weight: 3 },
  {
    arbitrary: fc.record({ do: fc.constant('advance' as const), to: fc.constant('when the lease ends' as const) }),
    weight: 3,
  },
  { arbitrary: fc.record({ do: fc.constant('advance' as const), to: fc.constant('at expiry' as const) }), weight: 1 },
]

/** Half of the sequences start with a decided code; otherwise few would get that far. */
function beginnings(clock: boolean): fc.Arbitrary<ServerOperation[]> {
  const claimed = { do: 'claim', user: 'A' } as const
  return fc.constantFrom<ServerOperation[]>(
    [],
    [],
    [claimed, { do: 'grant', user: 'A' }],
    clock ? [{ do: 'advance', to: 'at expiry' }] : [claimed, { do: 'reject', user: 'A' }],
    ...(clock ? [[], [claimed, { do: 'reject', user: 'A' } as const]] : []),
  )
}

export function serverSequences(clock: boolean): fc.Arbitrary<ServerSequence> {
  const operation: fc.Arbitrary<ServerOperation> = clock ? fc.oneof(...timeless, ...timed) : fc.oneof(...timeless)
  const rest = fc.array(operation, { minLength: 1, maxLength: 22, size: 'max' })
  return fc.record({
    variant: fc.constantFrom('oauth' as const, 'key' as const),
    operations: fc.tuple(beginnings(clock), rest).map((parts) => parts.flat()),
  })
}
