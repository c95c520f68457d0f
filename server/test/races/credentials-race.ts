/** Many polls of one accepted code at the same instant, on all processes and both paths: one gets the credentials. */
import { grantDeviceCode } from '../../src/flows/decide-device-code.ts'
import { enterUserCode } from '../../src/flows/enter-code.ts'
import type { WireAnswer } from '../rig/device.ts'
import { deviceAt, inLanes, type RaceTrack, variantOf } from './race-track.ts'

/** Two of each code's polls go to the path of the other variant. */
const WRONG_PATH_POLLS = 2

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
  const outcomes = await inLanes(size.codes, 12, async (index) => {
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
      const invalid = answer.status === 400 && answer.body.error === 'invalid'
      if (answer.status !== 200 && !invalid) problems.push(`code ${index}: answered ${answer.status} ${answer.text}`)
    }
    return won.length
  })

  const [row] = await track.database.query<{ grants: number; used: number }>(
    `select count(distinct g.id)::int as grants, count(*) filter (where d.status = 'used')::int as used
     from device_codes d join grants g on g.device_code_id = d.id where d.state like 'code %'`,
  )
  if (row?.grants !== size.codes || row.used !== size.codes) problems.push(`rows left: ${JSON.stringify(row)}`)
  const issued = outcomes.filter((count) => count > 0).length
  const double = outcomes.filter((count) => count > 1).length
  if (double > 0) problems.push(`${double} codes were spent twice`)
  if (issued < size.codes) problems.push(`${size.codes - issued} codes were lost`)
  const polls = size.codes * size.pollsPerCode
  console.log(`races: codes=${size.codes} polls=${polls} issued=${issued} double=${double} lost=${size.codes - issued}`)
  return problems
}

function fits(answer: WireAnswer, index: number): boolean {
  const { access_token, refresh_token, access_key, state } = answer.body
  if (state !== `code ${index}`) return false
  return variantOf(index) === 'oauth'
    ? access_token?.startsWith('lka_') && refresh_token?.startsWith('lkr_') && access_key === undefined
    : access_key?.startsWith('lkk_') && access_token === undefined
}
