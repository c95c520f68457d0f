/** Decisions while processes are killed every five seconds, Redis is killed and started, and PostgreSQL is restarted. */
import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_HINT_MS } from '../../src/gate/gate.ts'
import type { AtOnceHarness, PlacedCode, Size } from './at-once-harness.ts'
import { decideAtRate, untilHeld } from './at-once-latency.ts'
import { type DevicePoll, nowMs, startHeldDevices } from './held-devices.ts'

const KILL_EVERY_MS = 5_000
const AWAY_MS = 2_000

/** A lease of a killed process (10 s), an interval, and the time in which a device notices a dead connection. */
const ARRIVES_WITHIN_MS = 60_000

/** Of refused histories, so many are printed. */
const SHOWN = 3

/**
 * How long after a decision a poll may still answer `auth_pending`: the longest outage, as the devices see it when thousands
 * connect again at once, and the life of a hint.
 */
const PENDING_MAY_BE_OLD_MS = 90_000 + MAX_HINT_MS

export async function measureFaults(harness: AtOnceHarness, size: Size) {
  const codes = await harness.placeCodes(size.held)
  const devices = startHeldDevices(
    Number(new URL(harness.server.address).port),
    codes.map(({ form }) => form),
  )
  let killing: NodeJS.Timeout | undefined
  try {
    console.error(`${await untilHeld(harness, size.held)} polls held`)
    let killed = 0
    killing = setInterval(() => {
      const pids = harness.pids()
      const victim = pids[killed % pids.length]
      if (victim === undefined) return
      process.kill(victim, 'SIGKILL')
      killed += 1
    }, KILL_EVERY_MS)
    const restarting = restartEngines(harness, size.seconds)
    const { committedAt, perSecond } = await decideAtRate(harness, codes, size)
    await restarting
    clearInterval(killing)
    const lost = () => [...committedAt.keys()].filter((device) => !devices.arrivedAt.has(device)).length
    for (let waited = 0; lost() > 0 && waited < ARRIVES_WITHIN_MS; waited += 500) await sleep(500)
    // Until a repeated outcome would be noticed.
    await sleep(8_000)
    addPolls(codes, devices.polls)
    const problems = harness.judgeHistories()
    for (const problem of problems.slice(0, SHOWN)) console.error(problem)
    const missed = [
      lost() > 0 ? 'lost' : '',
      devices.double.size > 0 ? 'double' : '',
      problems.length > 0 ? 'histories' : '',
    ].filter(Boolean)
    const decisions = committedAt.size
    return {
      verify: 'at-once-faults',
      held: size.held,
      decisions,
      decisions_per_second: perSecond,
      killed,
      ...arrival(committedAt, devices.arrivedAt),
      lost: lost(),
      repeated: devices.repeated.size,
      double: devices.double.size,
      histories: codes.length,
      refused: problems.length,
      missed,
    }
  } finally {
    clearInterval(killing)
    devices.stop()
  }
}

/** To the histories of their codes, on the clock of this process. */
function addPolls(codes: readonly PlacedCode[], polls: readonly DevicePoll[]): void {
  const ahead = nowMs() - performance.now()
  const lastOf = new Map(polls.map((poll) => [`${poll.device} ${poll.answer?.credentials}`, poll]))
  for (const poll of polls) {
    const { device, calledAt } = poll
    // The same credentials came again: the process of this poll was killed before it stored that it had sent them.
    const forgotten = poll.answer?.credentials != null && lastOf.get(`${device} ${poll.answer.credentials}`) !== poll
    const answer = forgotten ? null : poll.answer
    codes[device]?.recorded.history.add({
      call: { do: 'poll', key: null, path: 'own' },
      answer,
      calledAt: calledAt - ahead,
      answeredAt: answer === null ? Infinity : poll.answeredAt - ahead,
    })
  }
  for (const { recorded } of codes) recorded.history.pendingMayBeOld(PENDING_MAY_BE_OLD_MS)
}

/** Time from the commit to the device. */
function arrival(committedAt: ReadonlyMap<number, number>, arrivedAt: ReadonlyMap<number, number>) {
  const took = Array.from(committedAt, ([device, at]) => (arrivedAt.get(device) ?? Number.NaN) - at)
    .filter((ms) => !Number.isNaN(ms))
    .sort((a, b) => a - b)
  const at = (part: number) => Math.max(0, Math.round(took[Math.ceil(took.length * part) - 1] ?? 0))
  return { p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) }
}

async function restartEngines({ postgres, redisEngine }: AtOnceHarness, seconds: number): Promise<void> {
  await sleep((seconds * 1000) / 3)
  redisEngine.stop('SIGKILL')
  await sleep(AWAY_MS)
  redisEngine.start()
  await sleep((seconds * 1000) / 3)
  postgres.stop()
  await sleep(AWAY_MS)
  postgres.start()
}
