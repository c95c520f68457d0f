/** One refresh token presented many times at once, then reused later. docs/interface/credentials.md, "Refresh". */
import type { Context } from '../../src/flows/context.ts'
import { tokenSetOf } from '../../src/flows/grants/issue.ts'
import { post, type WireAnswer, withoutExpiresIn } from '../rig/device.ts'
import type { TestDatabase } from '../rig/engines/database.ts'
import type { MadeApplication } from '../rig/make.ts'
import { askVerify, type IssuedGrant } from './issued-grants.ts'

export type RefreshTrack = {
  readonly addresses: readonly string[]
  readonly application: MadeApplication
  readonly context: Context
  readonly database: TestDatabase
}

type Tokens = { readonly accessToken: string; readonly refreshToken: string }

export type RefreshRace = {
  readonly grant: IssuedGrant
  /** Concurrent refreshes of the first token that were answered. */
  readonly answered: number
  /** Answered 200. */
  readonly renewed: number
  /** Of these, those with exactly the bytes of the first. */
  readonly same: number
  readonly stepped: boolean
  readonly reuseRefused: boolean
  /** All credentials issued for the grant, oldest first. */
  readonly handedOut: readonly Tokens[]
  readonly problems: readonly string[]
}

export async function raceToRefresh(
  track: RefreshTrack,
  index: number,
  grant: IssuedGrant,
  refreshes: number,
): Promise<RefreshRace> {
  const problems: string[] = []
  const say = (problem: string) => problems.push(`grant ${index}: ${problem}`)
  const first = tokenSetOf(track.context, grant, grant.issuedAt, grant.issuedAt)

  const presented = Array.from({ length: refreshes }, (_, lane) => refreshAt(track, index + lane, first.refreshToken))
  const answers = await Promise.all(presented)
  const renewed = answers.filter(({ status }) => status === 200)
  for (const { status, text } of answers) if (status !== 200) say(`a refresh was answered ${status} ${text}`)
  const sets = renewed.map(({ text }) => withoutExpiresIn(text))
  const same = sets.filter((set) => set === sets[0]).length
  if (same < renewed.length) say(`${renewed.length - same} of ${renewed.length} were answered with another set`)
  const [row] = await track.database.query<{ generation: number }>('select generation from grants where id = $1', [
    grant.id,
  ])
  const stepped = row?.generation === 2
  if (!stepped) say(`its generation is ${row?.generation} after one step`)

  const figures = { grant, answered: answers.length, renewed: renewed.length, same, stepped }
  const second = tokensIn(track.context, renewed[0], 2)
  const next = second && (await refreshAt(track, index + 1, second.refreshToken))
  const third = next && tokensIn(track.context, next, 3)
  if (!second || !third) {
    say('it could not be renewed a second time')
    return { ...figures, reuseRefused: false, handedOut: [], problems }
  }

  // Cached in every process, so that each has something to evict.
  const handedOut = [first, second, third]
  for (const status of await askEverywhere(track, handedOut)) {
    if (status !== 200) say(`an access token was answered ${status} before the reuse`)
  }
  const reuses = await Promise.all(track.addresses.map((_, lane) => refreshAt(track, lane, first.refreshToken)))
  const reuseRefused = reuses.every(isInvalidGrant)
  if (!reuseRefused) say(`reuse was answered ${reuses.map(({ status, text }) => `${status} ${text}`).join(', ')}`)
  return { ...figures, reuseRefused, handedOut, problems }
}

/** Every credential that the grant ever had is refused by every process. */
export async function checkEnded(track: RefreshTrack, index: number, { handedOut }: RefreshRace): Promise<string[]> {
  const problems: string[] = []
  for (const status of await askEverywhere(track, handedOut)) {
    if (status !== 401) problems.push(`grant ${index}: an access token was answered ${status} after the reuse`)
  }
  const refreshes = handedOut.flatMap(({ refreshToken }) =>
    track.addresses.map((_, lane) => refreshAt(track, lane, refreshToken)),
  )
  for (const answer of await Promise.all(refreshes)) {
    if (isInvalidGrant(answer)) continue
    problems.push(`grant ${index}: a refresh was answered ${answer.status} ${answer.text} after the reuse`)
  }
  return problems
}

/** Retries 503 a few times, as an application does: a repeated refresh is answered with the same set. */
async function refreshAt(track: RefreshTrack, lane: number, refreshToken: string): Promise<WireAnswer> {
  const { id, secret } = track.application
  const address = track.addresses[lane % track.addresses.length] ?? ''
  const form = { SVCappid: id, SVCsecret: secret, refresh_token: refreshToken }
  for (let attempt = 1; ; attempt += 1) {
    const answer = await post(address, '/auth/oauth/refresh', { form })
    if (answer.status !== 503 || attempt === 5) return answer
  }
}

function askEverywhere(track: RefreshTrack, sets: readonly Tokens[]): Promise<number[]> {
  const asked = sets.flatMap(({ accessToken }) => track.addresses.map((address) => askVerify(address, accessToken)))
  return Promise.all(asked)
}

/** Null unless both are valid and of this generation. */
function tokensIn(context: Context, answer: WireAnswer | undefined, generation: number): Tokens | null {
  const { access_token: accessToken = '', refresh_token: refreshToken = '' } = answer?.body ?? {}
  const [access, refresh] = [context.verifyCredential(accessToken), context.verifyCredential(refreshToken)]
  const fits = access?.is === 'access_token' && refresh?.is === 'refresh_token'
  return fits && access.generation === generation && refresh.generation === generation
    ? { accessToken, refreshToken }
    : null
}

function isInvalidGrant({ status, body }: WireAnswer): boolean {
  return status === 400 && body.error === 'invalid_grant'
}
