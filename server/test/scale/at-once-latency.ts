/** Time from the commit of a decision to the device, and the memory of a held poll. */
import { setTimeout as sleep } from 'node:timers/promises'
import { residentMb } from '../rig/process/server-process.ts'
import type { AtOnceHarness, PlacedCode, Size } from './at-once-harness.ts'
import { type HeldDevices, nowMs, startHeldDevices } from './held-devices.ts'

const GOALS = { p50: { redis: 20, postgres: 1_000 }, p99: { redis: 100, postgres: 1_000 }, bytes: 18 * 1024 }

/** Until a decision that was missed would arrive by the interval, and a repeated outcome would be noticed. */
const AFTERWARDS_MS = 12_000

const HOLD_WITHIN_MS = 180_000

export async function measureLatency(harness: AtOnceHarness, size: Size) {
  const codes = await harness.placeCodes(size.held)
  const before = totalMb(harness)
  const devices = startHeldDevices(
    Number(new URL(harness.server.address).port),
    codes.map(({ form }) => form),
  )
  try {
    const held = await untilHeld(harness, size.held)
    const kilobytes = Math.round(((totalMb(harness) - before) * 1024) / held)
    const committedAt = await decideAtRate(harness, codes, size)
    await sleep(AFTERWARDS_MS)
    return report(harness, { size, held, kilobytes, committedAt, devices })
  } finally {
    devices.stop()
  }
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

/** The number of each decided device, and when its decision was committed. */
export async function decideAtRate(
  harness: AtOnceHarness,
  codes: readonly PlacedCode[],
  { rate, seconds }: Size,
): Promise<ReadonlyMap<number, number>> {
  const committedAt = new Map<number, number>()
  const begun = nowMs()
  const all = Array.from({ length: rate * seconds }, async (_, step) => {
    await sleep(Math.max(1, (step * 1000) / rate - (nowMs() - begun)))
    // Spread over all devices, which are held in the order of their numbers.
    const device = Math.floor((step * codes.length) / (rate * seconds))
    const code = codes[device]
    if (!code) return
    await harness.decide(code, step)
    committedAt.set(device, nowMs())
  })
  await Promise.all(all)
  return committedAt
}

type Measured = {
  readonly size: Size
  readonly held: number
  readonly kilobytes: number
  readonly committedAt: ReadonlyMap<number, number>
  readonly devices: HeldDevices
}

function report(harness: AtOnceHarness, { size, held, kilobytes, committedAt, devices }: Measured) {
  const took = Array.from(committedAt, ([device, at]) => (devices.arrivedAt.get(device) ?? Number.NaN) - at)
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
    lost > 0 ? 'lost' : '',
    devices.double.size > 0 ? 'double' : '',
  ].filter(Boolean)
  return {
    verify: 'at-once',
    redis: harness.redis,
    processes: harness.pids().length,
    held,
    decisions: took.length,
    p50_ms: p50,
    p99_ms: p99,
    kb_per_held_poll: kilobytes,
    lost,
    double: devices.double.size,
    missed,
  }
}

const totalMb = (harness: AtOnceHarness) => harness.pids().reduce((sum, pid) => sum + residentMb(pid), 0)
