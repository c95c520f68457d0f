/**
 * Simulates clients of the state machine (core/device/code.ts) and records their history. A final outcome is delivered in
 * several steps, as the service does it: a poll takes the lease, sends the answer, then confirms that it was sent; the answer
 * may get lost before or after that. Time and chance come from a seed.
 */
import {
  accept,
  claim,
  confirm,
  type Delivery,
  type DeviceCode,
  type Entrant,
  lossOf,
  poll,
  reject,
  release,
  takeOver,
  unclaim,
} from '../../src/core/device/code.ts'
import { between } from '../model/suspension-traffic.ts'
import { EXPIRES_AT, makeDeviceCode } from '../rig/records.ts'
import { callFrom } from './generate.ts'
import { type Answer, type Call, type Entry, type Operation, type Poll, plain } from './history.ts'

/** The clients are active for this long before the code expires, and as long after. */
const AROUND_EXPIRY_MS = 20_000

/** Longest way of a request or an answer. */
const WAY_MS = 2_000

/** How often a poll looks again while another one delivers the outcome. */
const LOOK_AGAIN_MS = 200

type Decision = Extract<Call, { readonly user: string }>

export function simulate(random: () => number, size: number): Operation[] {
  const history: Operation[] = [
    { call: { do: 'request' }, answer: plain('requested'), calledAt: 0, answeredAt: 0 },
    { call: { do: 'expire' }, answer: plain('expired'), calledAt: EXPIRES_AT, answeredAt: EXPIRES_AT },
  ]
  const agenda: { readonly at: number; readonly work: () => void }[] = []
  let code: DeviceCode = makeDeviceCode()
  let now = 0
  let ids = 0
  const nextId = () => {
    ids += 1
    return `id ${ids}`
  }
  const later = (work: () => void, ms = random() * WAY_MS) => agenda.push({ at: now + ms, work })

  function hear(call: Call, calledAt: number, answer: Answer): void {
    if (random() < 0.1) lose(call, calledAt)
    else later(() => history.push({ call, answer, calledAt, answeredAt: now }))
  }

  function lose(call: Call, calledAt: number): void {
    history.push({ call, answer: null, calledAt, answeredAt: Infinity })
  }

  function send(call: Call): void {
    if (call.do === 'expire' || call.do === 'request') return
    const calledAt = now
    later(() => (call.do === 'poll' ? handlePoll(call, calledAt) : handleDecision(call, calledAt)))
  }

  function handlePoll(call: Poll, calledAt: number): void {
    const step =
      call.path === 'own'
        ? poll(code, { now, tooEarly: random() < 0.3, leaseId: nextId(), idempotencyKey: call.key })
        : ({ answer: 'invalid' } as const)
    if (step.answer === 'being_delivered') later(() => handlePoll(call, calledAt), LOOK_AGAIN_MS)
    else if (step.answer === 'repeat') hear(call, calledAt, outcomeOf(step.delivery))
    else if (step.answer !== 'deliver') hear(call, calledAt, plain(step.answer))
    else {
      code = step.next
      deliver(call, calledAt, step.delivery)
    }
  }

  function deliver(call: Poll, calledAt: number, delivery: Delivery): void {
    const settle = (step: typeof confirm) =>
      later(() => {
        code = step(code, delivery)
      })
    const fate = random()
    if (fate < 0.2) {
      lose(call, calledAt)
      // The client disconnected before the answer was sent; otherwise the process died.
      if (fate < 0.1) settle(release)
    } else {
      later(() => {
        hear(call, calledAt, outcomeOf(delivery))
        settle(confirm)
      })
    }
  }

  function outcomeOf({ outcome }: Delivery): Answer {
    return outcome === 'accepted' ? { is: outcome, credentials: code.grantId } : plain(`auth_${outcome}`)
  }

  function handleDecision(call: Decision, calledAt: number): void {
    const step = decide(call)
    if ('next' in step) code = step.next
    const told = call.do === 'enter' && lossOf(code, call.user) === 'entered_elsewhere' ? 'closed' : null
    hear(call, calledAt, plain(told ?? WORDS[call.do][step.answer] ?? step.answer))
  }

  function decide(call: Decision) {
    if (call.do === 'enter') return enter(call)
    if (call.do === 'grant') return accept(code, call.user, nextId(), now)
    return call.do === 'reject' ? reject(code, call.user, now) : unclaim(code, call.user, now)
  }

  function enter(call: Entry) {
    const by = entrantOf(call)
    const step = claim(code, by, now)
    if (step.answer !== 'taken' || call.instead !== true) return step
    const taken = takeOver(step.next, by, now)
    return taken.answer === 'decided' ? { answer: 'claimed', next: taken.next } : step
  }

  function entrantOf({ user: userId, account, person = userId }: Entry): Entrant {
    const relation = accountOf.get(code.claimedBy) === account ? 'colleague' : 'stranger'
    return { userId, person, relation: code.claimedAs === person && relation === 'stranger' ? 'same_person' : relation }
  }

  const accountOf = new Map<string | null, string>([
    ['A', 'first'],
    ['B', 'first'],
    ['C', 'second'],
    ['D', 'third'],
  ])
  for (let each = 0; each < size; each += 1) {
    const call = callFrom(random)
    const at = EXPIRES_AT + between(random, -AROUND_EXPIRY_MS, AROUND_EXPIRY_MS) + random()
    agenda.push({ at, work: () => send(call) })
  }
  while (agenda.length > 0) {
    agenda.sort((one, other) => other.at - one.at)
    const next = agenda.pop()
    now = next?.at ?? now
    next?.work()
  }
  return history
}

const WORDS: Readonly<Record<Decision['do'], Readonly<Record<string, string>>>> = {
  enter: { moved: 'claimed', not_open: 'not_recognised' },
  grant: { decided: 'granted' },
  reject: { decided: 'rejected' },
  unclaim: { decided: 'released', not_open: 'released' },
}
