/** Handlers of the user's security settings: password, passkeys, second factor, sessions. */
import type { Context } from '../../flows/context.ts'
import {
  addAuthenticator,
  addPasskey,
  changePassword,
  passkeyCreation,
  proposeAuthenticator,
  readSignInMethods,
  removeAuthenticator,
  removePasskey,
} from '../../flows/sign-in/methods.ts'
import { listSessions, signOutEverywhere, signOutSession } from '../../flows/sign-in/sessions.ts'
import { authenticatorPage } from '../../pages/sign-in/authenticator.tsx'
import { securityPage } from '../../pages/sign-in/security.tsx'
import type { SecurityModel } from '../../pages/sign-in/security-model.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'
import { clearCookie, SESSION } from '../web/cookies.ts'
import { refusedWith } from './handlers.ts'

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
  if (await addPasskey(context, account, sessionUser, given, now)) return { seeOther: '/security?notice=passkey_added' }
  return { page: await security(context, request, { problem: 'passkey' }), status: 400 }
}

export const removeOwnPasskey: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields } = request
  const { outcome } = await removePasskey(context, account, sessionUser, fields.get('passkey') ?? '')
  if (outcome === 'removed') return { seeOther: '/security?notice=passkey_removed' }
  if (outcome === 'not_found') return { refusal: 'not_found' }
  return { page: await security(context, request, { problem: outcome }), status: 400 }
}

export const showAuthenticator: PageHandler<UserRequest> = async (context, { account, sessionUser, frame }) => {
  const setup = proposeAuthenticator(context, account, sessionUser)
  return setup ? { page: authenticatorPage(frame, { ...setup, problem: null }) } : { refusal: 'server_error' }
}

export const saveAuthenticator: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields, frame, now } = request
  const given = { setup: fields.get('setup') ?? '', code: fields.get('code') ?? '' }
  if (await addAuthenticator(context, account, sessionUser, given, now)) {
    return { seeOther: '/security?notice=authenticator_added' }
  }
  const setup = proposeAuthenticator(context, account, sessionUser, given.setup)
  if (!setup) return { refusal: 'stale' }
  return { page: authenticatorPage(frame, { ...setup, problem: 'wrong' }), status: 400 }
}

export const removeOwnAuthenticator: PageHandler<UserRequest> = async (context, { account, sessionUser }) => {
  await removeAuthenticator(context, account, sessionUser)
  return { seeOther: '/security?notice=authenticator_removed' }
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
