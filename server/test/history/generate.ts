/** Generated histories: of clients of a service that keeps to the specification, and the same with one wrong answer. */
import { between } from '../model/suspension-traffic.ts'
import { type Answer, type Call, type Operation, plain } from './history.ts'
import { apply, NOT_REQUESTED, type State } from './specification.ts'

type Random = () => number

const USERS = [
  { user: 'A', account: 'first' },
  { user: 'A', account: 'first' },
  { user: 'A', account: 'first' },
  { user: 'B', account: 'first' },
  { user: 'C', account: 'second' },
  { user: 'D', account: 'third', person: 'A' },
] as const

const CREDENTIALS = ['one token set', 'another token set'] as const

const POLL_ANSWERS: readonly Answer[] = [
  ...['auth_pending', 'slow_down', 'auth_rejected', 'auth_expired', 'invalid'].map(plain),
  ...CREDENTIALS.map((credentials) => ({ is: 'accepted', credentials })),
]

/** Every answer that a service could give. */
const ANSWERS: Readonly<Record<Call['do'], readonly Answer[]>> = {
  request: [plain('requested')],
  enter: ['claimed', 'taken', 'closed', 'not_recognised'].map(plain),
  grant: ['granted', 'not_open'].map(plain),
  reject: ['rejected', 'not_open'].map(plain),
  unclaim: [plain('released')],
  expire: [plain('expired')],
  poll: POLL_ANSWERS,
}

const CALLS = [
  'poll',
  'poll',
  'poll',
  'poll',
  'enter',
  'enter',
  'grant',
  'grant',
  'reject',
  'unclaim',
  'expire',
] as const

const pick = <T>(random: Random, values: readonly T[]): T => values[between(random, 0, values.length - 1)] as T

/** Any operation after the request of the code. */
export function callFrom(random: Random): Call {
  const what = pick(random, CALLS)
  const who = pick(random, USERS)
  if (what === 'enter') return { do: what, ...who, instead: random() < 0.2 }
  if (what === 'expire') return { do: what }
  if (what !== 'poll') return { do: what, user: who.user }
  return { do: what, key: pick(random, [null, null, 'k1', 'k2']), path: random() < 0.1 ? 'other' : 'own' }
}

/** How long a request and its answer take: up to so much, where a history lasts 100. */
const WAYS = [1, 10, 40] as const

/** Share of requests whose client does not hear the answer. Half of them never reach the service. */
const UNKNOWN = 0.15

/** A history of so many operations after the request of the code. The service handled each at one instant. */
export function generateHistory(random: Random, size: number): Operation[] {
  const way = pick(random, WAYS)
  const requests = Array.from({ length: size }, () => {
    const call = callFrom(random)
    const calledAt = random() * 100
    const unknown = call.do !== 'expire' && random() < UNKNOWN
    const handledAt = calledAt + random() * way * (unknown ? 5 : 1)
    return { call, calledAt, handledAt, answeredAt: unknown ? Infinity : handledAt + random() * way }
  })
  let { next: state } = apply(NOT_REQUESTED, { do: 'request' })
  const history: Operation[] = [{ call: { do: 'request' }, answer: plain('requested'), calledAt: -2, answeredAt: -1 }]
  for (const { call, handledAt: _, ...times } of requests.sort((one, other) => one.handledAt - other.handledAt)) {
    if (times.answeredAt === Infinity) {
      if (random() < 0.5) state = apply(state, call).next
      history.push({ call, answer: null, ...times })
    } else {
      const handled = handle(random, state, call)
      state = handled.next
      history.push({ call, answer: handled.answer, ...times })
    }
  }
  return history
}

function handle(random: Random, state: State, call: Call): { next: State; answer: Answer } {
  const { next, expected } = apply(state, call)
  if (expected.is === 'accepted') {
    const [credentials] = CREDENTIALS
    return { next: { ...next, credentials }, answer: { is: 'accepted', credentials } }
  }
  return { next, answer: expected.is === 'auth_pending' && random() < 0.3 ? plain('slow_down') : expected }
}

/** The history with another answer to one of its requests. It may still be a history that the specification allows. */
export function corrupt(random: Random, history: readonly Operation[]): Operation[] {
  const changed = pick(
    random,
    history.filter(({ call, answer }) => answer !== null && ANSWERS[call.do].length > 1),
  )
  return history.map((each) => (each === changed ? { ...each, answer: pick(random, ANSWERS[each.call.do]) } : each))
}
