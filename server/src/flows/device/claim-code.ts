/** Claim of a code by the user who entered it: first, instead of a colleague, or in another account of the same person. */
import type { Config } from '../../config.ts'
import type { Application } from '../../core/applications/application.ts'
import { byService } from '../../core/audit/actor.ts'
import { claim, type Entrant, lossOf, mayBeTakenOver, takeOver } from '../../core/device/code.ts'
import { type Actors, actorOf, mayAsk } from '../../core/grants/granting.ts'
import { personOf } from '../../core/sign-in/person.ts'
import { digestUserCode } from '../../secrets/user-code.ts'
import { isPerson } from '../../secrets/web-texts.ts'
import { lockUser, readUser, type User } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import {
  type Found,
  findByUserCode,
  lockLiveUserCode,
  type StoredDeviceCode,
  saveDeviceCode,
} from '../../store/device/codes.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'
import { readParties } from '../grants/granting-facts.ts'

export type ClaimResult =
  | {
      readonly outcome: 'claimed'
      readonly userCode: string
      readonly code: StoredDeviceCode
      readonly application: Pick<Application, 'id' | 'name'>
    }
  /** Another user of this account has claimed the code and not decided yet. `offer`: to continue instead of them. */
  | { readonly outcome: 'taken'; readonly offer: boolean }
  /** A user of another account had entered it: this one, or after this one. */
  | { readonly outcome: 'closed' }
  /** Unknown, expired, decided, used, barred by the account, or entered in another account: indistinguishable. */
  | { readonly outcome: 'not_recognised' }

export type Claimed = {
  readonly result: ClaimResult
  /** There is, or was, a code with these digits. */
  readonly exists: boolean
  /** The open code that was entered, even if another user has claimed it: every user counts towards a crowd. */
  readonly matchedCode: (MatchedCode & { readonly application: Pick<Application, 'id' | 'name'> }) | null
  /** The code that the entry closed: its polls are told. */
  readonly closedCode: StoredDeviceCode | null
}

type MatchedCode = Pick<StoredDeviceCode, 'id' | 'requestedFrom'>

export type Entry = {
  readonly userId: string
  readonly by: Actors
  /** Digest of the person as whom the user signed in; null: not known, as on the command line. */
  readonly person: string | null
  /** To continue instead of a colleague. */
  readonly instead: boolean
}

export type PersonSettings = Pick<Config, 'keys' | 'signInSubjects'>

export async function claimUserCode(
  { config }: Context,
  tx: Transaction,
  { userId, by, person, instead }: Entry,
  userCode: string,
): Promise<Claimed> {
  const { keys } = config
  const digests = digestUserCode(keys, userCode)
  const locked = await lockLiveUserCode(tx, digests)
  const user = await lockUser(tx, userId)
  // All are queried in every case, so that timing does not reveal whether a code exists.
  const parties = await readParties(tx, user, locked?.code.applicationId ?? '')
  const claimant = await readUser(tx, locked?.code.claimedBy ?? '')
  const known = await findByUserCode(tx, digests)
  const actor = actorOf(by, userId)
  const exists = known !== null
  const refused = { result: refusal(known, userId), exists, matchedCode: null, closedCode: null }
  if (!locked || !parties) return refused
  if (mayAsk({ flow: 'device', ...parties, by, now: locked.now }) !== 'ok') return refused
  const { application, account } = parties
  const who = entrantOf(config, parties.user, person, claimant, locked.code)
  const entered = claim(locked.code, who, locked.now)
  if (entered.answer === 'not_open') return refused
  const taken = entered.answer === 'taken' && instead ? takeOver(locked.code, who, locked.now) : null
  const step = taken?.answer === 'decided' ? ({ answer: 'taken_over', next: taken.next } as const) : entered

  await saveDeviceCode(tx, step.next)
  const about = { applicationId: application.id, deviceCodeId: locked.code.id }
  await recordEvent(tx, { kind: KINDS[step.answer], actor, accountId: account.id, userId, ...about })
  if (claimant && (step.answer === 'closed' || step.answer === 'moved')) {
    const kind = step.answer === 'closed' ? 'code.entered_elsewhere' : 'code.moved_away'
    const whose = { accountId: claimant.accountId, userId: claimant.id }
    await recordEvent(tx, { kind, actor: byService('code-entry'), ...whose, ...about })
  }
  const code = { ...locked.code, ...step.next }
  const matched = {
    exists,
    matchedCode: { id: code.id, requestedFrom: code.requestedFrom, application },
    closedCode: null,
  }
  switch (step.answer) {
    case 'taken':
      return { ...matched, result: { outcome: 'taken', offer: mayBeTakenOver(code) } }
    case 'closed':
      return { ...matched, result: { outcome: 'closed' }, closedCode: code }
    default:
      return { ...matched, result: { outcome: 'claimed', userCode, code, application } }
  }
}

const KINDS = {
  claimed: 'code.claimed',
  moved: 'code.claimed',
  taken: 'code.also_entered',
  taken_over: 'code.taken_over',
  closed: 'code.closed',
} as const

/** Only those who had a part in it are told that a code was closed, also after the device was. */
function refusal(known: Found | null, userId: string): ClaimResult {
  const closed = known !== null && lossOf(known.code, userId) === 'entered_elsewhere'
  return { outcome: closed ? 'closed' : 'not_recognised' }
}

/**
 * The user, as the person that they are and as whom they signed in, if that is the same. Values that changed since the sign-in, or
 * since the claim, prove nothing.
 */
export function entrantOf(
  { keys, signInSubjects }: PersonSettings,
  user: User,
  signedInAs: string | null,
  claimant: User | null,
  { claimedAs }: StoredDeviceCode,
): Entrant {
  const known = personOf(user, signInSubjects)
  const person = known !== null && isPerson(keys, signedInAs, known) ? known : null
  const entrant = { userId: user.id, person: person && signedInAs }
  if (claimant?.accountId === user.accountId) return { ...entrant, relation: 'colleague' }
  const same =
    person !== null &&
    claimant !== null &&
    !claimant.disabled &&
    personOf(claimant, signInSubjects) === person &&
    isPerson(keys, claimedAs, person)
  return { ...entrant, relation: same ? 'same_person' : 'stranger' }
}
