/** Handlers of the user's security settings: password, passkeys, second factor, recovery codes, sessions. */
import type { Context } from '../../flows/context.ts'
import { addAuthenticator, proposeAuthenticator, removeAuthenticator } from '../../flows/sign-in/authenticator.ts'
import { changePassword } from '../../flows/sign-in/change-password.ts'
import type { AddedFactor } from '../../flows/sign-in/method-changes.ts'
import { readSignInMethods } from '../../flows/sign-in/methods.ts'
import { addPasskey, passkeyCreation, removePasskey } from '../../flows/sign-in/passkeys.ts'
import { renewRecoveryCodes } from '../../flows/sign-in/recovery-codes.ts'
import { readSecondFactorDuty } from '../../flows/sign-in/second-factor.ts'
import { listSessions, signOutEverywhere, signOutSession } from '../../flows/sign-in/sessions.ts'
import { authenticatorPage } from '../../pages/sign-in/authenticator.tsx'
import { recoveryCodesPage } from '../../pages/sign-in/recovery-codes.tsx'
import { secondFactorPage } from '../../pages/sign-in/second-factor.tsx'
import { securityPage } from '../../pages/sign-in/security.tsx'
import type { SecurityModel } from '../../pages/sign-in/security-model.ts'
import type { FormFields } from '../parameters.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'
import { clearCookie, SESSION } from '../web/cookies.ts'
import { nextPath } from '../web/next-path.ts'
import { refusedWith, rememberPasskey } from './handlers.ts'

const NOTICES: readonly SecurityModel['notice'][] = [
  'password',
  'passkey_added',
  'passkey_removed',
  'authenticator_added',
  'authenticator_removed',
  'session_ended',
]

export const showSecurity: PageHandler<UserRequest> = async (context, request) => {
  const notice = NOTICES.find((each) => each === request.fields.get('notice')) ?? null
  return { page: await security(context, request, { notice }) }
}

export const changeOwnPassword: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields, browser } = request
  const [current, password, again] = ['current', 'password', 'again'].map((name) => fields.get(name) ?? '')
  const given = { current: current ?? '', password: password ?? '', again: again ?? '' }
  const result = await changePassword(context, account, sessionUser, given, browser)
  if (result.outcome === 'changed') return { seeOther: '/security?notice=password' }
  if (result.outcome === 'unfit') {
    return { page: await security(context, request, { problem: result.problem }), status: 400 }
  }
  if (result.outcome === 'busy') return { refusal: 'unavailable' }
  if (result.outcome === 'expired') return { seeOther: '/sign-in' }
  const problem = result.outcome
  return { page: await security(context, request, { problem }), ...refusedWith(result) }
}

export const addNewPasskey: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields, now } = request
  const given = { answer: fields.get('answer') ?? '', name: fields.get('name') ?? '' }
  const result = await addPasskey(context, account, sessionUser, given, now)
  if (result.outcome === 'added') return rememberPasskey(factorAdded(request, result, 'passkey_added'))
  if (isBarred(context, request)) return { page: await enrolment(context, request, 'passkey'), status: 400 }
  return { page: await security(context, request, { problem: 'passkey' }), status: 400 }
}

export const showEnrolment: PageHandler<UserRequest> = async (context, request) => {
  if (!isBarred(context, request)) return { seeOther: nextPath(request.fields.get('next')) }
  return { page: await enrolment(context, request, null) }
}

/** Whether the user has to set up a second factor before anything else. */
function isBarred(context: Context, { account, sessionUser, now }: UserRequest): boolean {
  return readSecondFactorDuty(context, account, sessionUser, now).outcome === 'enrol'
}

async function enrolment(context: Context, request: UserRequest, problem: null | 'passkey'): Promise<string> {
  const { account, sessionUser, fields, frame, now } = request
  const passkey = passkeyCreation(context, account, sessionUser, [], now)
  return secondFactorPage(frame, { next: nextPath(fields.get('next')), passkey, problem })
}

function factorAdded(
  { fields, frame }: UserRequest,
  { recoveryCodes }: Extract<AddedFactor, { outcome: 'added' }>,
  notice: 'passkey_added' | 'authenticator_added',
): PageAnswer {
  const next = givenNext(fields) ?? `/security?notice=${notice}`
  return recoveryCodes ? { page: recoveryCodesPage(frame, { codes: recoveryCodes, next }) } : { seeOther: next }
}

export const createNewRecoveryCodes: PageHandler<UserRequest> = async (context, { account, sessionUser, frame }) => {
  const codes = await renewRecoveryCodes(context, account, sessionUser)
  return codes ? { page: recoveryCodesPage(frame, { codes, next: '/security' }) } : { seeOther: '/security' }
}

export const removeOwnPasskey: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields, now } = request
  const { outcome } = await removePasskey(context, account, sessionUser, fields.get('passkey') ?? '', now)
  if (outcome === 'removed') return { seeOther: '/security?notice=passkey_removed' }
  if (outcome === 'not_found') return { refusal: 'not_found' }
  return { page: await security(context, request, { problem: outcome }), status: 400 }
}

export const showAuthenticator: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, frame, fields } = request
  const setup = proposeAuthenticator(context, account, sessionUser)
  if (!setup) return { refusal: 'server_error' }
  return { page: authenticatorPage(frame, { ...setup, next: givenNext(fields), problem: null }) }
}

function givenNext(fields: FormFields): string | null {
  const next = fields.get('next') ?? ''
  return next === '' ? null : nextPath(next)
}

export const saveAuthenticator: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields, frame, now } = request
  const given = { setup: fields.get('setup') ?? '', code: fields.get('code') ?? '' }
  const result = await addAuthenticator(context, account, sessionUser, given, now)
  if (result.outcome === 'added') return factorAdded(request, result, 'authenticator_added')
  const setup = proposeAuthenticator(context, account, sessionUser, given.setup)
  if (!setup) return { refusal: 'stale' }
  return { page: authenticatorPage(frame, { ...setup, next: givenNext(fields), problem: 'wrong' }), status: 400 }
}

export const removeOwnAuthenticator: PageHandler<UserRequest> = async (context, request) => {
  const { outcome } = await removeAuthenticator(context, request.account, request.sessionUser, request.now)
  if (outcome === 'removed') return { seeOther: '/security?notice=authenticator_removed' }
  return { page: await security(context, request, { problem: outcome }), status: 400 }
}

/** Signs out of one session, which may be in another browser. */
export const signOutOne: PageHandler<UserRequest> = async (context, { account, sessionUser, fields }) => {
  const id = fields.get('session') ?? ''
  if (!(await signOutSession(context, account.id, sessionUser, id))) return { refusal: 'not_found' }
  if (id !== sessionUser.session.id) return { seeOther: '/security?notice=session_ended' }
  return { seeOther: '/sign-in?notice=signed_out', cookies: [clearCookie(SESSION)] }
}

export const signOutAll: PageHandler<UserRequest> = async (context, { account, sessionUser }) => {
  await signOutEverywhere(context, account.id, sessionUser)
  return { seeOther: '/sign-in?notice=signed_out', cookies: [clearCookie(SESSION)] }
}

async function security(
  context: Context,
  { account, sessionUser, frame, now }: UserRequest,
  about: Partial<SecurityModel>,
): Promise<string> {
  const methods = await readSignInMethods(context, account, sessionUser)
  const sessions = await listSessions(context, account, sessionUser)
  return securityPage(frame, {
    hasPassword: methods.hasPassword,
    problem: null,
    notice: null,
    passkeys: methods.passkeys.map(({ id, name, createdAt, lastUsedOn }) => ({
      id,
      name,
      createdOn: createdAt,
      lastUsedOn,
    })),
    passkey: passkeyCreation(context, account, sessionUser, methods.passkeys, now),
    authenticator: methods.authenticatorSince === null ? null : { createdOn: methods.authenticatorSince },
    recoveryCodes: methods.passkeys.length > 0 || methods.authenticatorSince !== null ? methods.recoveryCodes : null,
    sessions: sessions.map(({ id, createdAt, lastUsedAt, agent, address }) => ({
      id,
      current: id === sessionUser.session.id,
      createdAt,
      lastUsedAt,
      agent,
      address,
      place: context.geoip.find(address).placeName(frame.words.language),
    })),
    ...about,
  })
}
