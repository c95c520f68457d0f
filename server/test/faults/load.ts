/** Devices and a user who continue through faults, and record every answer. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../src/flows/context.ts'
import { MAX_HINT_MS } from '../../src/gate/gate.ts'
import { type RecordedCode, RecordedCodes } from '../history/recorded-code.ts'
import { Device } from '../rig/device.ts'
import type { MadeApplication, MadeUser } from '../rig/make.ts'
import { IssuedCredentials } from './issued-credentials.ts'

export type Load = {
  totals(): UsageCounters
  /** Milliseconds from each decision, as the user saw it, until the device heard of it. */
  delays(): readonly number[]
  /** Requests no more codes, waits until each has an outcome, and returns the problems. */
  finish(): Promise<string[]>
  /** After the end: the credentials that a device was given and a process refuses. */
  refusedCredentials(): Promise<readonly string[]>
}

export type UsageCounters = {
  polls: number
  codesRequested: number
  codesRefused: number
  granted: number
  rejected: number
  collected: number
  refreshed: number
  /** Told to a device that keeps the interval. */
  slowDowns: number
}

/** What the user was told. `unknown`: the engine went away in the middle; then either is right, but only one. */
type Decision = 'granted' | 'rejected' | 'unknown' | 'none'

const POLL_OUTCOMES = ['auth_pending', 'slow_down', 'auth_expired', 'auth_rejected', 'invalid']
const DEVICES = 24

export function startLoad(given: {
  addresses: readonly string[]
  application: MadeApplication
  context: Context
  user: MadeUser
  /** Devices at once. */
  devices?: number
  intervalMs?: number
  /** How long after a decision a poll may still answer `auth_pending`: the longest outage, and the life of a hint. */
  pendingMayBeOldMs?: number
  /** Half of the polls are held, and token sets are refreshed until the end. */
  heldAndRefreshed?: boolean
}): Load {
  const { addresses, application, context, user, devices = DEVICES, intervalMs = 1_000 } = given
  const { pendingMayBeOldMs = 10_000 + MAX_HINT_MS, heldAndRefreshed = false } = given
  const totals: UsageCounters = {
    polls: 0,
    codesRequested: 0,
    codesRefused: 0,
    granted: 0,
    rejected: 0,
    collected: 0,
    refreshed: 0,
    slowDowns: 0,
  }
  const delays: number[] = []
  const problems: string[] = []
  const codes = new RecordedCodes()
  const issued = new IssuedCredentials(addresses, application)
  let finishing = false

  const device = (lane: number) =>
    new Device(addresses[lane % addresses.length] ?? '', application, lane % 2 === 0 ? 'oauth' : 'key')

  async function requestCode(lane: number): Promise<RecordedCode | null> {
    const calledAt = performance.now()
    const answer = await device(lane).request()
    if (answer.status === 200) {
      totals.codesRequested += 1
      const code = codes.add(device(lane), answer.body, calledAt)
      code.history.pendingMayBeOld(pendingMayBeOldMs)
      return code
    }
    totals.codesRefused += 1
    const wellRefused = answer.status === 503 && answer.body.error === 'unavailable' && answer.headers['retry-after']
    if (!wellRefused) problems.push(`a code request was answered ${answer.status} ${answer.text}`)
    return null
  }

  async function decide(code: RecordedCode, yes: boolean): Promise<Decision> {
    try {
      const entered = await code.enter(context, user)
      if (entered.outcome !== 'claimed') return 'none'
      const decision = await (yes ? code.grant(context, user, entered.code) : code.reject(context, user, entered.code))
      if (decision.outcome === 'granted') totals.granted += 1
      if (decision.outcome === 'rejected') totals.rejected += 1
      return decision.outcome === 'granted' || decision.outcome === 'rejected' ? decision.outcome : 'none'
    } catch {
      return 'unknown'
    }
  }

  /** Polls until a final outcome, alternating between the processes. */
  async function collect(code: RecordedCode, lane: number): Promise<string> {
    for (let poll = 0; poll < 120; poll += 1) {
      const at = new Device(
        addresses[(lane + poll) % addresses.length] ?? '',
        application,
        lane % 2 === 0 ? 'oauth' : 'key',
      )
      const held = heldAndRefreshed && poll % 2 === 1
      const answer = await code.poll(at, held ? { prefer: 'wait=5' } : {})
      totals.polls += 1
      if (answer.status === 200) {
        totals.collected += 1
        issued.add(answer.body)
        const after = await code.poll(at)
        // While PostgreSQL is down the delivery cannot be confirmed; then the outcome is not final.
        if (!['invalid', 'auth_pending', 'slow_down'].includes(after.body.error))
          problems.push(`after a 200: ${after.text}`)
        return 'granted'
      }
      if (answer.status !== 400 || !POLL_OUTCOMES.includes(answer.body.error)) {
        problems.push(`a poll was answered ${answer.status} ${answer.text}`)
      }
      if (answer.body.error === 'slow_down') totals.slowDowns += 1
      if (answer.body.error === 'auth_rejected') return 'rejected'
      if (answer.body.error === 'auth_expired' || answer.body.error === 'invalid') return answer.body.error
      await sleep(intervalMs)
    }
    return 'nothing final'
  }

  async function live(lane: number): Promise<void> {
    while (!finishing) {
      const code = await requestCode(lane).catch((error) => {
        problems.push(`a code request failed: ${error.message}`)
        return null
      })
      if (code) await follow(code, lane).catch((error) => problems.push(`a poll failed: ${error.message}`))
      else await sleep(200)
    }
  }

  async function follow(code: RecordedCode, lane: number): Promise<void> {
    const heard = collect(code, lane)
      .catch((error) => `no answer: ${error.message}`)
      .then((outcome) => ({ outcome, at: performance.now() }))
    await sleep(500 + Math.random() * 2_500)
    let decision = await decide(code, lane % 3 !== 0)
    // A user whose page failed tries again.
    while (decision === 'unknown' || decision === 'none') {
      await sleep(500)
      const retried = await decide(code, lane % 3 !== 0)
      if (decision === 'unknown' && retried === 'none') break
      decision = retried
    }
    const decidedAt = performance.now()
    const { outcome, at } = await heard
    delays.push(Math.max(0, at - decidedAt))
    const right = decision === 'unknown' ? ['granted', 'rejected'].includes(outcome) : outcome === decision
    if (!right) problems.push(`the user was told ${decision}, the device heard ${outcome}`)
  }

  /** Requests codes all the time, also while others wait; nobody enters these. */
  async function ask(): Promise<void> {
    for (let lane = 0; !finishing; lane += 1) {
      await requestCode(lane).catch((error) => problems.push(`a code request failed: ${error.message}`))
      await sleep(100)
    }
  }

  async function refresh(): Promise<void> {
    while (!finishing) {
      totals.refreshed += await issued.refreshOne()
      await sleep(200)
    }
  }

  const lanes = [
    ask(),
    ...(heldAndRefreshed ? [refresh()] : []),
    ...Array.from({ length: devices }, (_, lane) => live(lane)),
  ]
  return {
    totals: () => ({ ...totals }),
    delays: () => [...delays],
    finish: async () => {
      finishing = true
      await Promise.all(lanes)
      return [...problems, ...codes.judge('faults')]
    },
    refusedCredentials: () => issued.refused(),
  }
}
