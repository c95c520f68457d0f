/**
 * Processes of one application that share a stored credential, as with the client library's file store (sdk/src/tokens.ts,
 * sdk/src/node/file-lock.ts). Each may be killed or frozen at every point at which it waits.
 */
import { ACCESS_TOKEN_MS, type HeldSet, type VirtualService } from './virtual-service.ts'
import type { Program, VirtualTime } from './virtual-time.ts'

/** sdk/src/node/file-lock.ts: STALE_AFTER_MS, GIVE_UP_AFTER_MS. */
const STALE_AFTER_MS = 30_000
const GIVE_UP_AFTER_MS = 90_000
/** sdk/src/ask-again.ts: WITHIN_MS, ATTEMPT_LIMIT_MS. */
const RETRY_WITHIN_MS = 25_000
const ATTEMPT_LIMIT_MS = 8_000
/** sdk/src/tokens.ts: a set is renewed in the last tenth of its lifetime. */
const RENEW_BEFORE_MS = ACCESS_TOKEN_MS * 0.1

const THINK_MS = 600_000
const LOOK_EVERY_MS = 1_000
const ANSWER_LOST = 0.02
const KILLED = 0.01
const FROZEN = 0.01

export type Figures = {
  /** Logins that ended although nothing but killed processes, frozen ones and lost answers happened. */
  lost: number
  /** Logins that ended because a process was frozen between reading the store and sending. */
  frozenBetweenReadAndSend: number
  killed: number
  frozen: number
  takenOver: number
}

type Lock = { readonly owner: symbol; touchedAt: number; alive: boolean; frozen: boolean }

export class SharedProcesses {
  readonly figures: Figures = { lost: 0, frozenBetweenReadAndSend: 0, killed: 0, frozen: 0, takenOver: 0 }
  stored: HeldSet
  private lock: Lock | null = null

  private readonly time: VirtualTime
  private readonly service: VirtualService
  private readonly random: () => number
  private readonly faults: boolean

  constructor(time: VirtualTime, service: VirtualService, random: () => number, faults: boolean) {
    this.time = time
    this.service = service
    this.random = random
    this.faults = faults
    this.stored = service.authorize(time.now)
  }

  /** One process, restarted for ever. */
  start(): void {
    const me = Symbol('process')
    let frozenAt = 0
    const state = { wasFrozen: false }
    const program = this.run(me, state)
    const wake = () => {
      if (this.lock?.owner === me) this.lock.frozen = false
      if (frozenAt > 0) state.wasFrozen = true
      frozenAt = 0
      const { value: waitMs, done } = program.next()
      if (done || waitMs === undefined) return
      const busy = waitMs < THINK_MS / 100
      if (this.faults && busy && this.random() < KILLED) return this.kill(me)
      const frozenMs = this.faults && busy && this.random() < FROZEN ? this.someFreeze() : 0
      if (frozenMs > 0) {
        frozenAt = this.time.now
        this.figures.frozen += 1
        if (this.lock?.owner === me) Object.assign(this.lock, { frozen: true, touchedAt: this.time.now })
      }
      this.time.after(waitMs + frozenMs, wake)
    }
    this.time.after(this.random() * THINK_MS, wake)
  }

  private kill(me: symbol): void {
    this.figures.killed += 1
    if (this.lock?.owner === me) this.lock.alive = false
    this.time.after(this.random() * THINK_MS, () => this.start())
  }

  /** From a second to a day: a debugger, a suspended container, a laptop that shares the store by network. */
  private someFreeze(): number {
    return 1_000 * 86_400 ** this.random()
  }

  private *run(me: symbol, state: { wasFrozen: boolean }): Program {
    for (;;) {
      yield -Math.log(1 - this.random()) * THINK_MS
      const seen = this.stored
      if (seen.expiresAt - this.time.now > RENEW_BEFORE_MS) {
        this.service.check(seen, this.time.now)
        continue
      }
      const until = this.time.now + GIVE_UP_AFTER_MS
      while (!this.tryLock(me) && this.time.now < until) yield LOOK_EVERY_MS * (0.5 + this.random())
      if (this.lock?.owner !== me) continue
      yield 1
      const set = yield* this.renew(seen, state)
      if (this.lock?.owner === me) this.lock = null
      yield 1
      if (set) this.service.check(set, this.time.now)
    }
  }

  private *renew(seen: HeldSet, state: { wasFrozen: boolean }): Generator<number, HeldSet | null, void> {
    const until = this.time.now + RETRY_WITHIN_MS
    for (let faults = 0; this.time.now < until; faults += 1) {
      // The store is read again under the lock, before every attempt.
      if (this.stored !== seen) return this.stored
      state.wasFrozen = false
      yield 1 + this.random() * 200
      const { step, set } = this.service.refresh(seen, this.time.now)
      if (step === 'reused' || step === 'not_valid') return this.authorizeAgain(seen, step, state.wasFrozen)
      yield 1 + this.random() * 200
      if (this.faults && this.random() < ANSWER_LOST) {
        yield ATTEMPT_LIMIT_MS + 250 * 2 ** faults
        continue
      }
      // It is read again after the answer, too; reading and replacing the file count as one step.
      if (this.stored !== seen) return this.stored
      if (set) this.stored = set
      return set
    }
    return null
  }

  /** The user authorizes again if the stored login has ended. A year is its regular end. */
  private authorizeAgain(seen: HeldSet, step: 'reused' | 'not_valid', wasFrozen: boolean): HeldSet | null {
    if (this.stored !== seen && this.stored.login !== seen.login) return this.stored
    if (step === 'reused') {
      if (wasFrozen) this.figures.frozenBetweenReadAndSend += 1
      else this.figures.lost += 1
    }
    this.stored = this.service.authorize(this.time.now)
    return this.stored
  }

  private tryLock(me: symbol): boolean {
    const { lock } = this
    const now = this.time.now
    if (lock?.alive && !(lock.frozen && now - lock.touchedAt > STALE_AFTER_MS)) return false
    if (lock) this.figures.takenOver += 1
    this.lock = { owner: me, touchedAt: now, alive: true, frozen: false }
    return true
  }
}
