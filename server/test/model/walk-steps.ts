/**
 * One code with two pollers and three users, two of them of one account or of one person: every step that any of them, or the clock, can take. The steps go through
 * core/device/code.ts; their effect on pollers and users is kept beside it.
 *
 * Time is reduced to what the rules compare: before or after the code's expiry, before or after the end of the
 * lease, before or after the end of the time for repeats. Each state stands for all times between two boundaries.
 */
import {
  accept,
  claim,
  confirm,
  type Delivery,
  type DeviceCode,
  type Entrant,
  type FinalOutcome,
  isClosed,
  LEASE_MS,
  poll,
  reject,
  release,
  takeOver,
} from '../../src/core/device/code.ts'
import { ACCOUNTS, type CoreUser, PEOPLE } from './core-operations.ts'
import { REPEAT_MS } from './reference-model.ts'

const POLLERS = ['p1', 'p2'] as const
/** A and B are colleagues, A and D one person. */
const CASTS = [
  ['A', 'B', 'C'],
  ['A', 'C', 'D'],
] as const
const KEYS = [null, 'k', 'other'] as const
type Poller = (typeof POLLERS)[number]

const BEFORE = 0
const EXPIRY = 1_000_000

export type World = {
  readonly cast: readonly CoreUser[]
  readonly code: DeviceCode
  readonly expired: boolean
  /** The answer that a poll holds and has not sent yet. */
  readonly inFlight: Readonly<Record<Poller, Delivery | null>>
  /** A transaction that began before expiry and does not hold its row's lock yet; see `begin`. */
  readonly begun: Readonly<Record<Poller | CoreUser, boolean>>
  /** An outcome that was sent, or may have been. */
  readonly told: FinalOutcome | null
  readonly grants: number
  /** Users who entered the code while it was open: claimed it, found it taken, or closed it. */
  readonly entered: Readonly<Record<CoreUser, boolean>>
}

const FIRST_WORLD: Omit<World, 'cast'> = {
  code: {
    id: 'code',
    applicationId: 'application',
    variant: 'token_set',
    scopes: [],
    state: '',
    expiresAt: EXPIRY,
    status: 'pending',
    claimedBy: null,
    claimedAs: null,
    takenFrom: null,
    movedFrom: [],
    closedBy: null,
    entryClosed: false,
    alsoEntered: null,
    grantId: null,
    delivery: null,
  },
  expired: false,
  inFlight: { p1: null, p2: null },
  begun: { p1: false, p2: false, A: false, B: false, C: false, D: false },
  told: null,
  grants: 0,
  entered: { A: false, B: false, C: false, D: false },
}

export const FIRST_WORLDS: readonly World[] = CASTS.map((cast) => ({ ...FIRST_WORLD, cast }))

/** The answer of a poll, and the state it met. */
export type Polled = {
  readonly answer: string
  /** It had the key of the poll that held the outcome last. */
  readonly sameKey: boolean
  /** The outcome was taken recently enough to be repeated. */
  readonly repeats: boolean
  /** Another poll held the outcome. */
  readonly leased: boolean
  /** By its own time, there was no outcome yet. */
  readonly tooSoon: boolean
}

export type Step = {
  readonly what: string
  readonly next: World
  readonly polled?: Polled
}

export function stepsFrom(world: World): Step[] {
  return [
    ...POLLERS.flatMap((poller) => {
      const held = world.inFlight[poller]
      return held === null ? asking(world, poller) : sending(world, poller, held)
    }),
    ...world.cast.flatMap((user) => deciding(world, user)),
    ...passing(world),
  ]
}

/** PostgreSQL's `now()` is the start of the transaction, so a step may run after expiry with a time from before. */
function times(world: World, who: Poller | CoreUser): { now: number; when: string; begun: World['begun'] }[] {
  const now = timeOf(world)
  const onTime = { now, when: '', begun: world.begun }
  const late = { now: BEFORE, when: ', begun before expiry', begun: { ...world.begun, [who]: false } }
  return world.begun[who] ? [late] : [onTime]
}

/** `begin`, and then the network, a busy process or another transaction's lock, before the row is locked. */
function begin(world: World, who: Poller | CoreUser): Step[] {
  if (world.expired || world.begun[who]) return []
  return [{ what: `${who} begins a transaction`, next: { ...world, begun: { ...world.begun, [who]: true } } }]
}

function asking(world: World, poller: Poller): Step[] {
  const polls = times(world, poller).flatMap(({ now, when, begun }) =>
    KEYS.flatMap((idempotencyKey) =>
      [false, true].map((tooEarly): Step => {
        const step = poll(world.code, { now, tooEarly, leaseId: poller, idempotencyKey })
        const sameKey = idempotencyKey !== null && world.code.delivery?.idempotencyKey === idempotencyKey
        const what = `${poller} polls${tooEarly ? ' early' : ''}${idempotencyKey ? ` with key ${idempotencyKey}` : ''}${when}`
        const polled = {
          answer: 'delivery' in step ? step.delivery.outcome : step.answer,
          sameKey,
          repeats: repeats(world.code, now),
          leased: isLeased(world.code, now),
          tooSoon: world.code.status === 'pending' && now < EXPIRY && !isClosed(world.code),
        }
        if (!('delivery' in step)) return { what, polled, next: { ...world, begun } }
        const code = step.answer === 'deliver' ? step.next : world.code
        // Its end depends on the code's lease; the answer itself has no time.
        const held = { ...step.delivery, until: 0 }
        return {
          what,
          polled,
          next: { ...world, begun, code, inFlight: { ...world.inFlight, [poller]: held } },
        }
      }),
    ),
  )
  return [...polls, ...begin(world, poller)]
}

function sending(world: World, poller: Poller, held: Delivery): Step[] {
  const inFlight = { ...world.inFlight, [poller]: null }
  const told = held.outcome
  const sent = { ...held, until: timeOf(world) }
  return [
    { what: `${poller} sent it`, next: { ...world, inFlight, told, code: confirm(world.code, sent) } },
    { what: `${poller}'s client vanished`, next: { ...world, inFlight, code: release(world.code, held) } },
    // Whether the answer was sent is unknown: it has to count as sent.
    { what: `${poller} crashes`, next: { ...world, inFlight, told } },
  ]
}

function deciding(world: World, user: CoreUser): Step[] {
  const { code } = world
  const decisions = times(world, user).flatMap(({ now, when, begun }): Step[] => {
    const entered = claim(code, entrant(user, code), now)
    const taken = takeOver(code, entrant(user, code), now)
    const granted = accept(code, user, `grant ${world.grants + 1}`, now)
    const rejected = reject(code, user, now)
    const afterwards = (step: typeof entered | typeof granted, grants = world.grants): World => ({
      ...world,
      begun,
      grants,
      code: step.answer === 'not_open' ? code : step.next,
    })
    const withEntry = (next: World, { answer }: typeof entered | typeof taken): World =>
      answer === 'not_open' ? next : { ...next, entered: { ...world.entered, [user]: true } }
    return [
      { what: `${user} enters the code${when}`, next: withEntry(afterwards(entered), entered) },
      { what: `${user} takes the code over${when}`, next: withEntry(afterwards(taken), taken) },
      {
        what: `${user} grants${when}`,
        next: afterwards(granted, world.grants + (granted.answer === 'decided' ? 1 : 0)),
      },
      { what: `${user} rejects${when}`, next: afterwards(rejected) },
    ]
  })
  return [...decisions, ...begin(world, user)]
}

function entrant(userId: CoreUser, { claimedBy }: DeviceCode): Entrant {
  const claimant = claimedBy as CoreUser | null
  const samePerson = claimant !== null && PEOPLE[claimant] === PEOPLE[userId]
  const colleague = claimant !== null && ACCOUNTS[claimant] === ACCOUNTS[userId]
  return { userId, person: PEOPLE[userId], relation: colleague ? 'colleague' : samePerson ? 'same_person' : 'stranger' }
}

function passing(world: World): Step[] {
  const { code, expired } = world
  const now = timeOf(world)
  const leased = isLeased(code, now)
  const steps: Step[] = []
  if (leased) {
    // No transaction is as old as a lease: store/postgres/postgres.ts ends one that waits a second or two for its row.
    const begun = expired ? FIRST_WORLD.begun : world.begun
    steps.push({ what: 'the lease ends', next: { ...world, begun, code: withLeaseUntil(code, now) } })
  }
  if (code.status === 'used' && repeats(code, now)) {
    const next = { ...world, code: withLeaseUntil(code, now - REPEAT_MS) }
    steps.push({ what: 'the time for repeats ends', next })
  }
  if (!expired) {
    // Leases continue at first; their end is a separate step.
    const over = code.status === 'used' && !repeats(code, now)
    const moved = withLeaseUntil(code, leased ? EXPIRY + LEASE_MS : over ? EXPIRY - REPEAT_MS : EXPIRY)
    steps.push({ what: 'the code expires', next: { ...world, expired: true, code: moved } })
  }
  return steps
}

function timeOf(world: World): number {
  return world.expired ? EXPIRY : BEFORE
}

function repeats(code: DeviceCode, now: number): boolean {
  return code.delivery !== null && now < code.delivery.until - LEASE_MS + REPEAT_MS
}

/** A used code keeps only its last outcome. */
function isLeased(code: DeviceCode, now: number): boolean {
  return code.status !== 'used' && code.delivery !== null && now < code.delivery.until
}

function withLeaseUntil(code: DeviceCode, until: number): DeviceCode {
  return code.delivery === null ? code : { ...code, delivery: { ...code.delivery, until } }
}
