/** The core part: random histories of one code, applied to core/device/code.ts and to the reference model. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import {
  accept,
  claim,
  confirm,
  type Delivery,
  type DeviceCode,
  type Entrant,
  isClosed,
  isExpired,
  isForgotten,
  isOpen,
  lossOf,
  type PollRequest,
  poll,
  reject,
  release,
  takeOver,
} from '../../src/core/device/code.ts'
import { ACCOUNTS, type CoreOperation, type CoreUser, coreOperations, PEOPLE, timeAt } from './core-operations.ts'
import { ReferenceCode, type View, type VisibleStatus } from './reference-model.ts'
import { type Checked, describe, Seen, seedFor } from './seen.ts'

const LIFETIME_MS = 900_000

const SHOULD_HAPPEN: Readonly<Record<string, readonly string[]>> = {
  poll: [
    ...['auth_pending', 'slow_down', 'invalid', 'being_delivered', 'accepted', 'rejected', 'expired'],
    ...['accepted again', 'rejected again', 'expired again'],
  ],
  claim: ['claimed', 'taken', 'closed', 'not_recognised'],
  'take over': ['claimed', 'taken', 'closed', 'not_recognised'],
  grant: ['granted', 'not_open'],
  reject: ['rejected', 'not_open'],
}

export function checkCore(seed: number, leastOperations: number): Checked {
  const seen = new Seen()
  const property = fc.property(coreOperations, (sequence) => live(sequence, seen))
  for (let round = 0; seen.operations < leastOperations; round += 1) {
    const run = fc.check(property, { seed: seedFor(seed, 0, round), numRuns: 1_000 })
    if (run.failed) return { operations: seen.operations, seen, divergence: describe(run) }
  }
  return { operations: seen.operations, seen, divergence: seen.missing(SHOULD_HAPPEN) }
}

function live(sequence: readonly CoreOperation[], seen: Seen): void {
  const model = new ReferenceCode(0, LIFETIME_MS)
  const core = new CoreCode()
  for (const [index, operation] of sequence.entries()) {
    if (operation.do === 'advance') model.now = timeAt(operation.to, model)
    const expected = stepModel(model, operation, index)
    const answer = core.step(operation, index, model.now)
    if (answer !== expected) throw new Error(`operation ${index}: the core answers ${answer}, the model ${expected}`)
    const [is, shouldBe] = [core.view(model.now), model.view]
    if (!isDeepStrictEqual(is, shouldBe)) {
      throw new Error(`after operation ${index}: the core is ${fc.stringify(is)}, the model ${fc.stringify(shouldBe)}`)
    }
    seen.add(operation.do, answer)
  }
}

/** Leases are numbered by the operation that asked for them; an old one is found by counting back. */
const leaseOf = (index: number, back: number) => `lease ${index - 1 - back}`

function stepModel(model: ReferenceCode, operation: CoreOperation, index: number): string {
  switch (operation.do) {
    case 'poll':
      return model.poll(`lease ${index}`, operation.early, operation.key)
    case 'confirm':
    case 'release':
      model[operation.do](leaseOf(index, operation.lease))
      return 'done'
    case 'claim':
    case 'take over': {
      const { user } = operation
      return model.enter(user, ACCOUNTS[user], PEOPLE[user], operation.do === 'take over')
    }
    case 'grant':
      return model.grant(operation.user)
    case 'reject':
      return model.reject(operation.user)
    case 'advance':
      return 'done'
  }
}

/** The pure state machine, driven as flows/ drive it, with answers in the model's terms. */
class CoreCode {
  #code: DeviceCode = {
    id: 'code',
    applicationId: 'application',
    variant: 'token_set',
    scopes: [],
    state: '',
    expiresAt: LIFETIME_MS,
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
  }
  readonly #grants = new Set<string>()
  readonly #deliveries = new Map<string, Delivery>()

  step(operation: CoreOperation, index: number, now: number): string {
    const code = this.#code
    switch (operation.do) {
      case 'poll':
        return this.#poll({ now, tooEarly: operation.early, leaseId: `lease ${index}`, idempotencyKey: operation.key })
      case 'confirm':
      case 'release': {
        const delivery = this.#deliveries.get(leaseOf(index, operation.lease))
        if (delivery) this.#code = { confirm, release }[operation.do](code, delivery)
        return 'done'
      }
      case 'claim':
      case 'take over':
        return this.#enter(operation.user, operation.do === 'take over', now)
      case 'grant':
        return this.#decide(accept(code, operation.user, `grant ${index}`, now), 'granted')
      case 'reject':
        return this.#decide(reject(code, operation.user, now), 'rejected')
      case 'advance':
        return 'done'
    }
  }

  #enter(user: CoreUser, instead: boolean, now: number): string {
    const by = entrant(user, this.#code)
    const step = claim(this.#code, by, now)
    if (step.answer === 'not_open')
      return lossOf(this.#code, user) === 'entered_elsewhere' ? 'closed' : 'not_recognised'
    this.#code = step.next
    const taken = step.answer === 'taken' && instead ? takeOver(this.#code, by, now) : null
    if (taken?.answer === 'decided') {
      this.#code = taken.next
      return 'claimed'
    }
    return step.answer === 'moved' ? 'claimed' : step.answer
  }

  #poll(request: PollRequest): string {
    if (isForgotten(this.#code, request.now)) return 'invalid'
    const step = poll(this.#code, request)
    if (step.answer === 'repeat') return `${step.delivery.outcome} again`
    if (step.answer !== 'deliver') return step.answer
    this.#code = step.next
    this.#deliveries.set(request.leaseId, step.delivery)
    return step.delivery.outcome
  }

  #decide(step: ReturnType<typeof accept>, word: 'granted' | 'rejected'): string {
    if (step.answer === 'not_open') return 'not_open'
    this.#code = step.next
    if (this.#code.grantId !== null) this.#grants.add(this.#code.grantId)
    return word
  }

  view(now: number): View {
    const { status, claimedBy, alsoEntered, delivery } = this.#code
    const over = isExpired(this.#code, now) || isClosed(this.#code)
    const visible: VisibleStatus = status === 'pending' && over ? 'expired' : status
    return {
      status: visible,
      claimedBy,
      alsoEntered,
      open: isOpen(this.#code, now),
      grants: this.#grants.size,
      lease: delivery && { id: delivery.leaseId, until: delivery.until, key: delivery.idempotencyKey },
    }
  }
}

function entrant(userId: CoreUser, { claimedBy }: DeviceCode): Entrant {
  const claimant = claimedBy as CoreUser | null
  const person = PEOPLE[userId]
  if (claimant === null) return { userId, person, relation: 'stranger' }
  if (ACCOUNTS[claimant] === ACCOUNTS[userId]) return { userId, person, relation: 'colleague' }
  return { userId, person, relation: PEOPLE[claimant] === person ? 'same_person' : 'stranger' }
}
