/**
 * Many polls of one code around its grant, on all processes and both paths: one gets the credentials.
 *
 * Each code is polled once before it is granted, so every process starts from a live "pending" hint; half of these polls, chosen
 * at random, are held. What a poll may be answered depends on when it was sent: before the decision was answered, `auth_pending`
 * and `slow_down` are true as well; after it, the hint is gone from the shared gate, and a poll gets the credentials or `invalid`,
 * nothing else.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { RecordedCode } from '../history/recorded-code.ts'
import type { WireAnswer } from '../rig/device.ts'
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

/** Two of each code's polls go to the path of the other variant. */
const WRONG_PATH_POLLS = 2

/** Sent together with the decision. */
const POLLS_DURING_GRANT = 4

/** Codes requested at once: all of them are raced well before they expire. */
const BATCH = 500

/** Share of the codes whose first poll is held until the grant. */
const HELD_SHARE = 0.5

type Answered = { readonly answer: WireAnswer; readonly wrongPath: boolean; readonly tookMs: number }

/** `pollsPerCode` counts polls sent after the decision was answered; the others are additional. */
export async function raceForCredentials(
  track: RaceTrack,
  size: { codes: number; pollsPerCode: number },
): Promise<string[]> {
  const problems: string[] = []
  const counted = { polls: 0, pendingBeforeTheAnswer: 0, issuedBeforeTheAnswer: 0, issuedToHeld: 0 }
  const race = async (index: number, code: RecordedCode) => {
    const problem = (text: string) => problems.push(`code ${index}: ${text}`)
    const poll = async (lane: number, wrongPath = false, headers = {}): Promise<Answered> => {
      counted.polls += 1
      const device = deviceAt(track, index + lane, variantOf(wrongPath ? index + 1 : index))
      const sentAt = performance.now()
      const answer = await code.poll(device, headers)
      return { answer, wrongPath, tookMs: performance.now() - sentAt }
    }

    const held = Math.random() < HELD_SHARE ? poll(0, false, HELD) : null
    const first = held ? await sleep(ON_ITS_WAY_MS, null) : await poll(0)
    if (first && first.answer.body.error !== 'auth_pending') problem(`before the grant: ${describe(first)}`)
    // Another poll may release a held one; without any, the decision wakes it.
    const others = held && Math.random() < 0.5 ? 0 : POLLS_DURING_GRANT
    const during = Array.from({ length: others }, (_, lane) => poll(lane))
    if (held) during.push(held)
    const decided = await grantByUser(track, code)
    if (decided !== 'granted') problem(`could not be granted: ${decided}`)
    const after = Array.from({ length: size.pollsPerCode }, (_, lane) => poll(lane, lane < WRONG_PATH_POLLS))

    const heardDuring = await Promise.all(during)
    const heardAfter = await Promise.all(after)
    for (const each of heardDuring)
      if (!isFinal(each) && !isPending(each)) problem(`beside the grant: ${describe(each)}`)
    for (const each of heardAfter) if (!isFinal(each)) problem(`after the grant: ${describe(each)}`)
    const won = [...heardDuring, ...heardAfter].filter(({ answer }) => answer.status === 200)
    for (const { answer, wrongPath } of won) {
      if (wrongPath) problem('issued on the wrong path')
      if (!fits(answer, index)) problem(`wrong credentials ${answer.text}`)
    }
    if (held && (await held).answer.status === 200) counted.issuedToHeld += 1
    counted.pendingBeforeTheAnswer += heardDuring.filter(isPending).length
    counted.issuedBeforeTheAnswer += heardDuring.filter(({ answer }) => answer.status === 200).length
    return won.length
  }
  const outcomes: number[] = []
  for (let first = 0; first < size.codes; first += BATCH) {
    const count = Math.min(BATCH, size.codes - first)
    // Before their polls: a service that is busy with polls may shed code requests.
    const codes = await inLanes(count, 8, (at) => requestAt(track, first + at, { state: `code ${first + at}` }))
    outcomes.push(...(await inLanes(count, 12, (at) => race(first + at, codes[at] as RecordedCode))))
  }

  const [row] = await track.query<{ grants: number; used: number }>(
    `select count(distinct g.id)::int as grants, count(*) filter (where d.status = 'used')::int as used
     from device_codes d join grants g on g.device_code_id = d.id where d.state like 'code %'`,
  )
  if (row?.grants !== size.codes || row.used !== size.codes) problems.push(`rows left: ${JSON.stringify(row)}`)
  const issued = outcomes.filter((count) => count > 0).length
  const double = outcomes.filter((count) => count > 1).length
  if (double > 0) problems.push(`${double} codes were spent twice`)
  if (counted.issuedToHeld === 0) problems.push('no held poll got credentials')
  const lost = size.codes - issued
  if (lost > 0) problems.push(`${lost} codes were lost`)
  console.log(
    `races: credentials, beside the grant: pending=${counted.pendingBeforeTheAnswer} issued=${counted.issuedBeforeTheAnswer} held=${counted.issuedToHeld}`,
  )
  console.log(`races: codes=${size.codes} polls=${counted.polls} issued=${issued} double=${double} lost=${lost}`)
  return problems
}

async function grantByUser({ context, users }: RaceTrack, code: RecordedCode): Promise<string> {
  const entered = await retryUnavailable(() => code.enter(context, users[0]))
  if (entered.outcome !== 'claimed') return entered.outcome
  return (await retryUnavailable(() => code.grant(context, users[0], entered.code))).outcome
}

function isFinal({ answer }: Answered): boolean {
  return answer.status === 200 || (answer.status === 400 && answer.body.error === 'invalid')
}

function isPending({ answer }: Answered): boolean {
  return answer.status === 400 && ['auth_pending', 'slow_down'].includes(answer.body.error)
}

function describe({ answer, tookMs }: Answered): string {
  return `answered ${answer.status} ${answer.text} after ${Math.round(tookMs)} ms`
}

function fits(answer: WireAnswer, index: number): boolean {
  const { access_token, refresh_token, access_key, state } = answer.body
  if (state !== `code ${index}`) return false
  return variantOf(index) === 'oauth'
    ? access_token?.startsWith('lka_') && refresh_token?.startsWith('lkr_') && access_key === undefined
    : access_key?.startsWith('lkk_') && access_token === undefined
}
