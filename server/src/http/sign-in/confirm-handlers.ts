/** Handlers of the confirmation page: a user whose sign-in is not recent proves their identity again. */

import type { Context } from '../../flows/context.ts'
import { type ConfirmResult, confirmWithPasskey, confirmWithPassword } from '../../flows/sign-in/confirm.ts'
import { hostOf } from '../../flows/sign-in/hand-over.ts'
import { readSignInMethods } from '../../flows/sign-in/methods.ts'
import { passkeyRequest } from '../../flows/sign-in/prove.ts'
import { atHostPage } from '../../pages/sign-in/at-host.tsx'
import { type ConfirmModel, confirmPage } from '../../pages/sign-in/confirm.tsx'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'
import { SESSION, setCookie } from '../web/cookies.ts'
import { nextPath } from '../web/next-path.ts'
import { confirmAtHost } from './hand-over-handlers.ts'
import { minutesOf, refusedWith } from './handlers.ts'

export const showConfirm: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, frame, fields } = request
  const next = nextPath(fields.get('next'))
  const anew = fields.has('anew')
  const host = hostOf(context, account)
  if (host) return confirmAtHost(context, request, host, next, anew)
  if (sessionUser.origin === 'provider') {
    const address = `/sign-in/provider?next=${encodeURIComponent(next)}&recent=1${anew ? '&anew=1' : ''}`
    return { page: atHostPage(frame, { reason: 'confirm', address, provider: frame.user?.signsInAt ?? '' }) }
  }
  return { page: await ask(context, request, null, 0) }
}

export const confirmByPassword: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields, now, browser } = request
  const given = { password: fields.get('password') ?? '', code: fields.get('code') ?? '' }
  return confirmed(
    context,
    request,
    await confirmWithPassword(context, account, sessionUser, given, now, browser),
    'wrong',
  )
}

export const confirmByPasskey: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields, now, browser } = request
  const result = await confirmWithPasskey(context, account, sessionUser, fields.get('answer') ?? '', now, browser)
  return confirmed(context, request, result, 'passkey')
}

async function confirmed(
  context: Context,
  request: UserRequest,
  result: ConfirmResult,
  wrong: 'wrong' | 'passkey',
): Promise<PageAnswer> {
  const next = nextPath(request.fields.get('next'))
  if (result.outcome === 'confirmed') {
    const { session } = request.sessionUser
    return { seeOther: next, cookies: [setCookie(SESSION, result.cookie, (session.expiresAt - request.now) / 1000)] }
  }
  if (result.outcome === 'expired') return { seeOther: `/sign-in?next=${encodeURIComponent(next)}` }
  const problem = result.outcome === 'wrong' ? wrong : result.outcome
  return { page: await ask(context, request, problem, minutesOf(result)), ...refusedWith(result) }
}

async function ask(
  context: Context,
  { account, sessionUser, fields, frame, now }: UserRequest,
  problem: ConfirmModel['problem'],
  minutes: number,
): Promise<string> {
  const { hasPassword, passkeys, authenticatorSince } = await readSignInMethods(context, account, sessionUser)
  return confirmPage(frame, {
    next: nextPath(fields.get('next')),
    problem,
    minutes,
    password: hasPassword,
    code: authenticatorSince !== null ? 'authenticator' : passkeys.length > 0 ? 'recovery' : null,
    passkey: passkeys.length > 0 ? passkeyRequest(context, account, now) : null,
  })
}
