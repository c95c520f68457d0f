/** Time from the commit of a decision to the device, and the memory of a held poll. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MadeUser } from '../rig/make.ts'
import type { AtOnceHarness, PlacedCode, Size } from './at-once-harness.ts'
import { type HeldDevices, nowMs, startHeldDevices } from './held-devices.ts'
import { measureStolenTime } from './stolen-time.ts'

const GOALS = {
  p50: { redis: 20, postgres: 1_000 },
  p99: { redis: 100, postgres: 1_000 },
  bytes: 18 * 1024,
  /** Of the rate that was asked for. */
  rate: 0.98,
}

/** Decisions of the first seconds are not measured: processes that have just started compile what they run. */
export const WARM_UP_SECONDS = 5

/** Until a decision that was missed would arrive by the interval, and a repeated outcome would be noticed. */
const AFTERWARDS_MS = 12_000

/** After the last decision: a device whose connection died has noticed and polled again by then. What is later is lost. */
const LOST_AFTER_MS = 60_000

const HOLD_WITHIN_MS = 180_000

export async function measureLatency(harness: AtOnceHarness, size: Size) {
  const codes = await harness.placeCodes(size.held)
  console.error(`${codes.length} codes issued`)
  const before = await harness.memoryMb(true)
  const devices = startHeldDevices(
    Number(new URL(harness.server.address).port),
    codes.map(({ form }) => form),
  )
  try {
    const held = await untilHeld(harness, size.held)
    console.error(`${held} polls held`)
    const perPoll = (mb: number) => Math.round(((mb - before) * 1024) / held)
    const resident = perPoll(await harness.memoryMb(false))
    const kilobytes = perPoll(await harness.memoryMb(true))
    const stolenPercent = measureStolenTime()
    const decisions = await decideAtRate(harness, codes, size)
    const stolen = stolenPercent()
    await untilArrived(decisions, devices)
    return report(harness, { size, held, kilobytes, resident, decisions, devices, stolen })
  } finally {
    devices.stop()
  }
}

async function untilArrived({ committedAt }: Decisions, { arrivedAt }: HeldDevices): Promise<void> {
  const decidedAt = nowMs()
  await sleep(AFTERWARDS_MS)
  const allArrived = () => committedAt.keys().every((device) => arrivedAt.has(device))
  while (!allArrived() && nowMs() - decidedAt < LOST_AFTER_MS) await sleep(250)
}

/** Resolves when all polls are held. Those whose wait ends are on their way again for a moment. */
export async function untilHeld(harness: AtOnceHarness, count: number): Promise<number> {
  const until = nowMs() + HOLD_WITHIN_MS
  for (;;) {
    const held = await harness.heldPolls()
    if (held >= count * 0.98) return held
    if (nowMs() > until) throw new Error(`only ${held} of ${count} polls are held`)
    await sleep(250)
  }
}

export type Decisions = {
  /** The number of each decided device, and when its decision was committed. */
  readonly committedAt: ReadonlyMap<number, number>
  readonly perSecond: number
}

/**
 * Decisions at a steady rate, those of the warm-up left out. A user makes one after the other, later than planned if the
 * machine cannot keep up.
 */
export async function decideAtRate(
  harness: AtOnceHarness,
  codes: readonly PlacedCode[],
  { rate, seconds }: Size,
): Promise<Decisions> {
  const committed: [device: number, at: number][] = []
  const warmUp = rate * WARM_UP_SECONDS
  const steps = warmUp + rate * seconds
  const begun = nowMs()
  let next = 0
  const decideAsUser = async (user: MadeUser) => {
    while (next < steps) {
      const step = next
      next += 1
      await sleep(Math.max(1, (step * 1000) / rate - (nowMs() - begun)))
      // Spread over all devices, which are held in the order of their numbers.
      const device = Math.floor((step * codes.length) / steps)
      const code = codes[device]
      if (!code) return
      await harness.decide(user, code)
      committed.push([device, nowMs()])
    }
  }
  await Promise.all(harness.users.map(decideAsUser))
  const measured = committed.slice(warmUp)
  const [, from] = committed[warmUp - 1] ?? []
  const [, to] = committed.at(-1) ?? []
  const tookMs = (to ?? 0) - (from ?? 0)
  return { committedAt: new Map(measured), perSecond: Math.round((measured.length * 1000) / tookMs) }
}

type Measured = {
  readonly size: Size
  readonly held: number
  /** Memory of a held poll after the garbage was collected, and resident. */
  readonly kilobytes: number
  readonly resident: number
  readonly decisions: Decisions
  readonly devices: HeldDevices
  /** Percent of the processor time during the decisions. */
  readonly stolen: number
}

function report(harness: AtOnceHarness, measured: Measured) {
  const { size, held, kilobytes, resident, decisions, devices, stolen } = measured
  const took = Array.from(decisions.committedAt, ([device, at]) => (devices.arrivedAt.get(device) ?? Number.NaN) - at)
  const sorted = took.filter((ms) => !Number.isNaN(ms)).sort((a, b) => a - b)
  // The announcement may reach the device before the process that decided goes on.
  const percentile = (part: number) => Math.max(0, Math.round(sorted[Math.floor(sorted.length * part)] ?? 0))
  const [p50, p99] = [percentile(0.5), percentile(0.99)]
  const lost = took.length - sorted.length
  const by = harness.redis ? 'redis' : 'postgres'
  const missed = [
    p50 > GOALS.p50[by] ? 'p50_ms' : '',
    p99 > GOALS.p99[by] ? 'p99_ms' : '',
    // A few hundred polls weigh less than what else a process allocates meanwhile.
    size.held >= 5_000 && kilobytes * 1024 > GOALS.bytes ? 'kb_per_held_poll' : '',
    decisions.perSecond < size.rate * GOALS.rate ? 'decisions_per_second' : '',
    lost > 0 ? 'lost' : '',
    devices.repeated.size + devices.double.size > 0 ? 'double' : '',
  ].filter(Boolean)
  return {
    verify: 'at-once',
    redis: harness.redis,
    processes: harness.pids().length,
    held,
    decisions: took.length,
    decisions_per_second: decisions.perSecond,
    p50_ms: p50,
    p99_ms: p99,
    kb_per_held_poll: kilobytes,
    kb_per_held_poll_with_garbage: resident,
    stolen_percent: stolen,
    lost,
    double: devices.repeated.size + devices.double.size,
    missed,
  }
}
