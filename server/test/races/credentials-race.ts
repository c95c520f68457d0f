/** Many polls of one accepted code at the same instant, on all processes and both paths: one gets the credentials. */
import { setTimeout as sleep } from 'node:timers/promises'
import { grantDeviceCode } from '../../src/flows/decide-device-code.ts'
import { enterUserCode } from '../../src/flows/enter-code.ts'
import { LONGEST_HINT_MS } from '../../src/gate/gate.ts'
import type { WireAnswer } from '../rig/device.ts'
import { deviceAt, inLanes, type RaceTrack, variantOf } from './race-track.ts'

/** Two of each code's polls go to the path of the other variant. */
const WRONG_PATH_POLLS = 2

const WAIT = ['auth_pending', 'slow_down']

/** None, where Redis answers in time. A busy machine is allowed a few; gate/gate.ts says for how long. */
const MISLED_AT_MOST = 0.1

export async function raceForCredentials(
  track: RaceTrack,
  size: { codes: number; pollsPerCode: number },
): Promise<string[]> {
  const { context, users } = track
  const codes = await inLanes(size.codes, 16, async (index) => {
    const code = await deviceAt(track, index, variantOf(index)).code({ state: `code ${index}` })
    const entered = await enterUserCode(context, users[0].id, code.user_code)
    if (entered.outcome !== 'claimed') throw new Error(`the code could not be entered: ${entered.outcome}`)
    const granted = await grantDeviceCode(context, users[0].id, entered.code)
    if (granted.outcome !== 'granted') throw new Error(`the code could not be granted: ${granted.outcome}`)
    return code
  })

  const problems: string[] = []
  /** Where Redis was too slow for the one who decided, the hint that a code is pending stays; these heard it. */
  const misled = new Set<number>()
  /** How many of a code's polls got credentials. */
  const volley = async (index: number): Promise<number> => {
    const polls = Array.from({ length: size.pollsPerCode }, (_, poll) => {
      const wrongPath = poll < WRONG_PATH_POLLS
      const device = deviceAt(track, index + poll, variantOf(wrongPath ? index + 1 : index))
      return device.poll(codes[index]?.device_code ?? '').then((answer) => ({ answer, wrongPath }))
    })
    const answers = await Promise.all(polls)
    const won = answers.filter(({ answer }) => answer.status === 200)
    for (const { answer, wrongPath } of won) {
      if (wrongPath) problems.push(`code ${index}: issued on the wrong path`)
      if (!fits(answer, index)) problems.push(`code ${index}: wrong credentials ${answer.text}`)
    }
    for (const { answer } of answers) {
      if (answer.status === 200 || answer.body.error === 'invalid') continue
      if (WAIT.includes(answer.body.error)) misled.add(index)
      else problems.push(`code ${index}: answered ${answer.status} ${answer.text}`)
    }
    return won.length
  }
  const outcomes = await inLanes(size.codes, 12, volley)
  if (misled.size > size.codes * MISLED_AT_MOST) problems.push(`${misled.size} codes were called pending after a yes`)
  if (misled.size > 0) await sleep(LONGEST_HINT_MS)
  for (const index of misled) outcomes[index] = (outcomes[index] ?? 0) + (await volley(index))

  const [row] = await track.database.query<{ grants: number; used: number }>(
    `select count(distinct g.id)::int as grants, count(*) filter (where d.status = 'used')::int as used
     from device_codes d join grants g on g.device_code_id = d.id where d.state like 'code %'`,
  )
  if (row?.grants !== size.codes || row.used !== size.codes) problems.push(`rows left: ${JSON.stringify(row)}`)
  const issued = outcomes.filter((count) => count > 0).length
  const double = outcomes.filter((count) => count > 1).length
  if (double > 0) problems.push(`${double} codes were spent twice`)
  const lost = size.codes - issued
  if (lost > 0) problems.push(`${lost} codes were lost`)
  const polls = size.codes * size.pollsPerCode
  console.log(
    `races: codes=${size.codes} polls=${polls} issued=${issued} double=${double} lost=${lost} misled=${misled.size}`,
  )
  return problems
}

function fits(answer: WireAnswer, index: number): boolean {
  const { access_token, refresh_token, access_key, state } = answer.body
  if (state !== `code ${index}`) return false
  return variantOf(index) === 'oauth'
    ? access_token?.startsWith('lka_') && refresh_token?.startsWith('lkr_') && access_key === undefined
    : access_key?.startsWith('lkk_') && access_token === undefined
}
