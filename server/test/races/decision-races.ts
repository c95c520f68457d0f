/**
 * Concurrent decisions: grant against reject, grant against expiry, two accounts on one code. Each race has two outcomes, and
 * counts only if both occurred: a race with one outcome proves nothing about the other.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { RecordedCode } from '../history/recorded-code.ts'
import type { WireVariant } from '../rig/device.ts'
import { digestOf } from '../rig/witness.ts'
import {
  deviceAt,
  HELD,
  inLanes,
  ON_ITS_WAY_MS,
  type RaceTrack,
  requestAt,
  retryUnavailable,
  variantOf,
} from './race-track.ts'

/** Minimum share of codes for each outcome of a race. */
const MIN_SHARE = 0.1

/** How far one outcome moves the time of the next codes towards the boundary. */
const STEP_MS = 5
const MAX_STEPS = 5

/** Spread of the times of neighbouring codes. */
const SPREAD_MS = 20

const offsetOf = (index: number) => ((index * 7) % (2 * SPREAD_MS)) - SPREAD_MS

/** Share of the polls before a decision that are held, and so bring it themselves. */
const HELD_SHARE = 0.5

/** Both decisions of the same user at the same instant: one counts, and the held poll or the next one returns it. */
export async function raceGrantAgainstReject(track: RaceTrack, codes: number): Promise<string[]> {
  const {
    context,
    users: [user],
  } = track
  const ends = { granted: 0, rejected: 0 }
  const problems = await inLanes(codes, 8, async (index) => {
    const variant = variantOf(index)
    const code = await requestAt(track, index)
    const entered = await retryUnavailable(() => code.enter(context, user))
    if (entered.outcome !== 'claimed') return `code ${index}: could not be entered: ${entered.outcome}`
    // Leaves a pending hint, which the decision has to drop.
    const held = Math.random() < HELD_SHARE ? pollAt(track, index, variant, code, HELD) : null
    const before = held ? await sleep(ON_ITS_WAY_MS, 'auth_pending') : await pollAt(track, index, variant, code)
    if (before !== 'auth_pending') return `code ${index}: heard ${before} before any decision`
    const grant = () => retryUnavailable(() => code.grant(context, user, entered.code))
    const reject = () => retryUnavailable(() => code.reject(context, user, entered.code))
    const decisions = index % 2 ? [grant(), reject()] : [reject(), grant()]
    const won = (await Promise.all(decisions)).map((each) => each.outcome).filter((outcome) => outcome !== 'not_open')
    const answer = (await held) ?? (await pollAt(track, index + 1, variant, code))
    const heard = answer === 'accepted' ? 'granted' : answer === 'auth_rejected' ? 'rejected' : answer
    if (won.length !== 1 || won[0] !== heard) return `code ${index}: decided ${won.join(' and ')}, heard ${heard}`
    ends[heard as keyof typeof ends] += 1
    return null
  })
  return judge('grant against reject', codes, ends, problems)
}

/** At most what PostgreSQL and Redis may differ about the expiry on a busy machine. */
const MAX_EXPIRY_SKEW_MS = 1_000

/**
 * A grant within milliseconds of the expiry, while devices poll: granted and collected, or refused and expired. How
 * long a grant takes depends on the machine, so the next ones are sent closer to the expiry after a grant, earlier
 * after a refusal; the more, the more often in a row.
 */
export async function raceGrantAgainstExpiry(track: RaceTrack, codes: number): Promise<string[]> {
  const {
    context,
    users: [user],
  } = track
  const ends = { granted: 0, expired: 0 }
  let leadMs = 40
  let sameInARow = 0
  let last = ''
  const problems = await inLanes(codes, 20, async (index) => {
    const variant = variantOf(index)
    const requestedAt = performance.now()
    const code = await requestAt(track, index)
    const entered = await retryUnavailable(() => code.enter(context, user))
    if (entered.outcome !== 'claimed') {
      // On a busy machine a code may expire before it was entered: no race, but it must be true.
      const lived = performance.now() - requestedAt >= code.record.expires_in * 1000
      const heard = lived ? await pollUntilExpired(track, index, variant, code) : 'nothing: it had time left'
      return heard === 'auth_expired' ? null : `code ${index}: could not be entered: ${entered.outcome}, heard ${heard}`
    }
    const [clock] = await track.query<{ left: number }>(
      'select extract(epoch from $1::timestamptz - clock_timestamp()) * 1000 as left',
      [new Date(entered.code.expiresAt)],
    )
    const expiresAt = performance.now() + Number(clock?.left)
    code.history.pendingMayBeOld(MAX_EXPIRY_SKEW_MS)
    while (performance.now() < expiresAt - leadMs + offsetOf(index)) await sleep(1)
    const held = Math.random() < HELD_SHARE ? HELD : {}
    const polls = Array.from({ length: 3 }, (_, lane) => pollAt(track, index + lane, variant, code, held))
    const grant = retryUnavailable(() => code.grant(context, user, entered.code))
    const [decision, ...answers] = await Promise.all([grant, ...polls])
    const end = decision.outcome === 'granted' ? 'granted' : 'expired'
    sameInARow = end === last ? Math.min(sameInARow + 1, MAX_STEPS) : 1
    last = end
    leadMs += sameInARow * (end === 'granted' ? -STEP_MS : STEP_MS)
    const finals = answers.filter((each) => ![...PENDING, 'invalid'].includes(each))
    // The answer to a grant drops the hint. Nobody drops it at expiry: it expires with the code.
    const pollAgain = end === 'granted' ? pollAt : pollUntilExpired
    if (finals.length === 0) finals.push(await pollAgain(track, index, variant, code))
    const heard = finals.join(' and ')
    if (heard !== (end === 'granted' ? 'accepted' : 'auth_expired'))
      return `code ${index}: the grant was ${decision.outcome}, the device heard ${heard}`
    ends[end] += 1
    return null
  })
  return judge('grant against expiry', codes, ends, problems)
}

/**
 * Users of two accounts enter one code at about the same time, then both grant. Never two claims; never a grant by the second.
 * The second user's delay is increased after a code that was closed, and reduced after one that was granted; below zero, the first
 * user waits before the grant.
 */
export async function raceTwoAccounts(track: RaceTrack, codes: number): Promise<string[]> {
  const { context, users } = track
  const ends = { closed: 0, granted_before_the_second_came: 0 }
  let lagMs = 100
  const problems = await inLanes(codes, 8, async (index) => {
    const code = await requestAt(track, index)
    const entries = await Promise.all(
      users.map(async (user, second) => {
        const lag = lagMs + offsetOf(index)
        if (second) await sleep(Math.max(0, lag))
        const entered = await retryUnavailable(() => code.enter(context, user))
        if (entered.outcome !== 'claimed') return { user, claimed: false, granted: false }
        if (!second) await sleep(Math.max(0, -lag))
        const decision = await retryUnavailable(() => code.grant(context, user, entered.code))
        return { user, claimed: true, granted: decision.outcome === 'granted' }
      }),
    )
    const [row] = await track.query<{ claimed_by: string; entry_closed: boolean; grants: number }>(
      `select claimed_by, entry_closed, (select count(*)::int from grants g where g.device_code_id = d.id) as grants
       from device_codes d where user_code_digest = $1 order by created_at desc limit 1`,
      [digestOf(context, code.record.user_code)],
    )
    const claimants = entries.filter((entry) => entry.claimed)
    const granted = entries.filter((entry) => entry.granted)
    if (claimants.length !== 1 || claimants[0]?.user.id !== row?.claimed_by)
      return `code ${index}: ${claimants.length} claims`
    if (granted.length !== row?.grants) return `code ${index}: ${granted.length} told granted, ${row?.grants} rows`
    if (row.entry_closed && row.grants > 0) return `code ${index}: granted after it was passed around`
    if (!row.entry_closed && row.grants !== 1) return `code ${index}: neither granted nor closed`
    ends[row.entry_closed ? 'closed' : 'granted_before_the_second_came'] += 1
    lagMs += row.entry_closed ? STEP_MS : -STEP_MS
    return null
  })
  return judge('two accounts', codes, ends, problems)
}

/** Prints the counts of both outcomes, and fails a race that had only one. */
function judge(
  race: string,
  codes: number,
  ends: Readonly<Record<string, number>>,
  problems: readonly (string | null)[],
): string[] {
  const counts = Object.entries(ends).map(([end, count]) => `${end}=${count}`)
  console.log(`races: ${race} codes=${codes} ${counts.join(' ')}`)
  const found = problems.filter((problem) => problem !== null)
  const decided = Object.values(ends).reduce((sum, count) => sum + count, 0)
  const seldom = Object.keys(ends).filter((end) => (ends[end] ?? 0) < decided * MIN_SHARE)
  return [...found, ...seldom.map((end) => `${race}: ${end} in less than ${MIN_SHARE * 100} % of ${decided} codes`)]
}

const PENDING = ['auth_pending', 'slow_down']

/** One poll on the process of that lane: `accepted`, or the error code. */
async function pollAt(
  track: RaceTrack,
  lane: number,
  variant: WireVariant,
  code: RecordedCode,
  headers: Record<string, string> = {},
): Promise<string> {
  const { status, body } = await code.poll(deviceAt(track, lane, variant), headers)
  return status === 200 ? 'accepted' : (body.error ?? `status ${status}`)
}

async function pollUntilExpired(track: RaceTrack, lane: number, variant: WireVariant, code: RecordedCode) {
  const end = performance.now() + MAX_EXPIRY_SKEW_MS
  for (;;) {
    const heard = await pollAt(track, lane, variant, code)
    if (!PENDING.includes(heard)) return heard
    if (performance.now() > end) return `${heard}, a second after the end`
    await sleep(20)
  }
}
