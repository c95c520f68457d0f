/** Decisions that meet: grant against reject, grant against expiry, two accounts on one code. */
import { setTimeout as sleep } from 'node:timers/promises'
import { grantDeviceCode, rejectDeviceCode } from '../../src/flows/decide-device-code.ts'
import { enterUserCode } from '../../src/flows/enter-code.ts'
import type { CodeRecord } from '../rig/device.ts'
import { deviceAt, inLanes, type RaceTrack, variantOf } from './race-track.ts'

/** Both decisions of the same user at the same instant: one counts, and the device hears that one. */
export async function raceGrantAgainstReject(track: RaceTrack, codes: number): Promise<string[]> {
  const { context, users } = track
  const tally = { granted: 0, rejected: 0 }
  const problems = await inLanes(codes, 16, async (index) => {
    const device = deviceAt(track, index, variantOf(index))
    const code = await device.code()
    const entered = await enterUserCode(context, users[0].id, code.user_code)
    if (entered.outcome !== 'claimed') return `code ${index}: could not be entered: ${entered.outcome}`
    const grant = () => grantDeviceCode(context, users[0].id, entered.code)
    const reject = () => rejectDeviceCode(context, users[0].id, entered.code)
    const decisions = index % 2 ? [grant(), reject()] : [reject(), grant()]
    const won = (await Promise.all(decisions)).map((each) => each.outcome).filter((outcome) => outcome !== 'not_open')
    const answer = await settled(track, index, code)
    const heard = answer === 'accepted' ? 'granted' : answer === 'auth_rejected' ? 'rejected' : answer
    if (won.length !== 1 || won[0] !== heard) return `code ${index}: decided ${won.join(' and ')}, heard ${heard}`
    tally[heard as keyof typeof tally] += 1
    return null
  })
  console.log(`races: grant against reject codes=${codes} granted=${tally.granted} rejected=${tally.rejected}`)
  return problems.filter((problem) => problem !== null)
}

/** A grant within milliseconds of the expiry, while devices poll: granted and collected, or refused and expired. */
export async function raceGrantAgainstExpiry(track: RaceTrack, codes: number): Promise<string[]> {
  const { context, users } = track
  const tally = { granted: 0, expired: 0 }
  const problems = await inLanes(codes, 40, async (index) => {
    const device = deviceAt(track, index, variantOf(index))
    const code = await device.code()
    const entered = await enterUserCode(context, users[0].id, code.user_code)
    if (entered.outcome !== 'claimed') return `code ${index}: could not be entered: ${entered.outcome}`
    const [clock] = await track.database.query<{ left: number }>(
      'select extract(epoch from $1::timestamptz - now()) * 1000 as left',
      [new Date(entered.code.expiresAt)],
    )
    await sleep(Math.max(0, Number(clock?.left) - 6 + (index % 12)))
    const polls = Array.from({ length: 3 }, (_, lane) =>
      deviceAt(track, index + lane, variantOf(index)).poll(code.device_code),
    )
    const [decision, ...answers] = await Promise.all([grantDeviceCode(context, users[0].id, entered.code), ...polls])
    const final = answers.map((answer) => finalOf(answer.status, answer.body.error)).find((each) => each !== null)
    const heard = final ?? (await settled(track, index, code))
    const expected = decision.outcome === 'granted' ? 'accepted' : 'auth_expired'
    if (heard !== expected) return `code ${index}: the grant was ${decision.outcome}, the device heard ${heard}`
    tally[decision.outcome === 'granted' ? 'granted' : 'expired'] += 1
    return null
  })
  console.log(`races: grant against expiry codes=${codes} granted=${tally.granted} expired=${tally.expired}`)
  return problems.filter((problem) => problem !== null)
}

/** Users of two accounts enter one code at once, then both grant. Never two claims; never a grant by the second. */
export async function raceTwoAccounts(track: RaceTrack, codes: number): Promise<string[]> {
  const { context, users, database } = track
  let closed = 0
  const problems = await inLanes(codes, 16, async (index) => {
    const code = await deviceAt(track, index, variantOf(index)).code()
    const entries = await Promise.all(
      users.map(async (user, second) => {
        await sleep(second * (index % 20) * 4)
        const entered = await enterUserCode(context, user.id, code.user_code)
        if (entered.outcome !== 'claimed') return { user, claimed: false, granted: false }
        const decision = await grantDeviceCode(context, user.id, entered.code)
        return { user, claimed: true, granted: decision.outcome === 'granted' }
      }),
    )
    const [row] = await database.query<{ claimed_by: string; entry_closed: boolean; grants: number }>(
      `select claimed_by, entry_closed, (select count(*)::int from grants g where g.device_code_id = d.id) as grants
       from device_codes d where user_code = $1 order by created_at desc limit 1`,
      [code.user_code],
    )
    const claimants = entries.filter((entry) => entry.claimed)
    const granted = entries.filter((entry) => entry.granted)
    if (claimants.length !== 1 || claimants[0]?.user.id !== row?.claimed_by)
      return `code ${index}: ${claimants.length} claims`
    if (granted.length !== row?.grants) return `code ${index}: ${granted.length} told granted, ${row?.grants} rows`
    if (row.entry_closed && row.grants > 0) return `code ${index}: granted after it was passed around`
    if (row.entry_closed) closed += 1
    return null
  })
  console.log(`races: two accounts codes=${codes} closed=${closed} granted_before_the_second_came=${codes - closed}`)
  return problems.filter((problem) => problem !== null)
}

/** Polls until something final is heard. The gate may answer "pending" for as long as a dropped hint takes to be gone. */
async function settled(track: RaceTrack, index: number, code: CodeRecord): Promise<string> {
  for (let attempt = 0; attempt < 30; attempt += 1) {
    const answer = await deviceAt(track, index + attempt, variantOf(index)).poll(code.device_code)
    const final = finalOf(answer.status, answer.body.error)
    if (final !== null) return final
    await sleep(500)
  }
  return 'nothing final'
}

function finalOf(status: number, error: string | undefined): string | null {
  if (status === 200) return 'accepted'
  return error === 'auth_pending' || error === 'slow_down' || error === 'invalid' ? null : (error ?? `status ${status}`)
}
