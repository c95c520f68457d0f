/**
 * An overload of the service as the rule sees it: codes of honest devices that polled during it, and the minutes
 * that the service marks because it shed requests (flows/overload/load.ts).
 */
import { between, EARLY_SHARE, strangersCode, type Traffic } from './suspension-traffic.ts'

const MINUTE = 60_000

/** Counts of shed requests are saved every two seconds, into the minute of the save. */
const SAVED_EVERY_MS = 2_000

export type Overload = {
  readonly codeLifetimeMs: number
  /** The starts of the minutes that the service marks. */
  readonly marks: readonly number[]
}

/** For this many seconds of the minute answers are late, and impatient devices poll each second. */
type BusyMinute = { readonly startsAt: number; readonly busySeconds: number }

/** Starts and ends at any time of the last two hours, before, in or after the judged windows. */
export function addOverload(traffic: Traffic): Overload {
  const { random, now } = traffic
  const codeLifetimeMs = between(random, 10, 60) * MINUTE
  const grantsPerMinute = between(random, 13, 35)
  const minutes = busyMinutes(traffic)
  const impatientShare = 0.3 + 0.7 * random()
  for (let each = 0; each < 45 * grantsPerMinute; each += 1) {
    const grantedAt = now - Math.floor(random() * 45 * MINUTE)
    // Half of the users grant within five minutes, the others at any time before the code expires.
    const waitedMs = between(random, 30_000, random() < 0.5 ? 5 * MINUTE : codeLifetimeMs)
    const impatient = random() < impatientShare
    const earlyPolls = impatient ? earlyPollsBetween(minutes, grantedAt - waitedMs, grantedAt) : 0
    traffic.codes.push({ ...strangersCode(traffic, grantedAt), earlyPolls })
  }
  return { codeLifetimeMs, marks: marksOf(traffic, minutes, grantsPerMinute) }
}

function busyMinutes({ random, now }: Traffic): readonly BusyMinute[] {
  const count = between(random, 1, 90)
  const first = Math.floor((now - between(random, 0, 120) * MINUTE) / MINUTE) * MINUTE
  const all = Array.from({ length: count }, (_, index) => ({
    startsAt: first + index * MINUTE,
    busySeconds: between(random, 0, 60),
  }))
  return all.filter(({ startsAt }) => startsAt < now)
}

function earlyPollsBetween(minutes: readonly BusyMinute[], from: number, to: number): number {
  let seconds = 0
  for (const { startsAt, busySeconds } of minutes) {
    const overlapMs = Math.min(to, startsAt + MINUTE) - Math.max(from, startsAt)
    if (overlapMs > 0) seconds += busySeconds * (overlapMs / MINUTE)
  }
  return Math.floor(seconds * EARLY_SHARE)
}

/** The service detects an overload only by shedding a code request: without one, the minute is not marked. */
function marksOf({ random }: Traffic, minutes: readonly BusyMinute[], requestsPerMinute: number): readonly number[] {
  return minutes.flatMap(({ startsAt, busySeconds }) => {
    const noticed = random() >= Math.exp((-requestsPerMinute * busySeconds) / 60)
    const savedAt = startsAt + Math.floor(random() * (MINUTE + SAVED_EVERY_MS))
    return noticed ? [Math.floor(savedAt / MINUTE) * MINUTE] : []
  })
}
