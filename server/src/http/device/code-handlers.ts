/** Handlers for entering a user code and for the decision on it. docs/interface/device-flow.md, "The user decides". */
import { isCodeLength } from '../../core/device/user-code.ts'
import type { Context } from '../../flows/context.ts'
import { releaseCode } from '../../flows/device/decide.ts'
import { decideOnPage, type PageDecision } from '../../flows/device/decide-on-page.ts'
import { enterCode, readEntryRules } from '../../flows/device/enter-code.ts'
import { type OpenDecision, readDecision } from '../../flows/device/read-decision.ts'
import { readDelivery } from '../../flows/device/read-delivery.ts'
import { isFresh, signOut } from '../../flows/sign-in/sessions.ts'
import { consentPage } from '../../pages/device/consent.tsx'
import type { ConsentModel } from '../../pages/device/consent-model.ts'
import { decidedPage } from '../../pages/device/decided.tsx'
import { type EnterCodeModel, enterCodePage } from '../../pages/device/enter-code.tsx'
import { signDecision, verifyDecision } from '../../secrets/web-texts.ts'
import { logoAddress } from '../applications/logo.ts'
import { accessLifetimes } from '../grants/access-lifetimes.ts'
import type { FormFields } from '../parameters.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'
import { clearCookie, SESSION } from '../web/cookies.ts'
import { otherAccountAddress } from './activate-routes.ts'

export const showCodeEntry: PageHandler<UserRequest> = async (context, request) => ({
  page: await entryPage(context, request, null),
})

export const enterTypedCode: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields, browser, now } = request
  // While codes are being guessed on a large scale, entering one requires a fresh sign-in, so that a stolen session
  // alone cannot be used to guess.
  if (context.liveCodes.guessed && !isFresh(context, sessionUser, now))
    return { seeOther: '/confirm?next=/connect/code' }
  const [typed, instead] = [fields.get('code') ?? '', fields.get('take_over') === 'yes']
  const result = await enterCode(context, account, sessionUser, typed, browser.address, instead)
  switch (result.outcome) {
    case 'claimed':
      return { seeOther: `/connect/decision?ref=${signDecision(context.config.keys, result.code, sessionUser.id)}` }
    case 'empty':
      return { page: await entryPage(context, request, { kind: 'empty' }), status: 400 }
    case 'mistyped': {
      const { digits } = result
      const problem = isCodeLength(digits) ? ({ kind: 'mistyped' } as const) : ({ kind: 'length', digits } as const)
      return { page: await entryPage(context, request, problem), status: 400 }
    }
    case 'taken':
      return { page: await entryPage(context, request, { kind: 'taken', offer: result.offer }), status: 400 }
    case 'closed':
    case 'not_recognised':
      return { page: await entryPage(context, request, { kind: result.outcome }), status: 400 }
    case 'locked': {
      const minutes = Math.ceil(result.waitMs / 60_000)
      const retryAfterSeconds = Math.ceil(result.waitMs / 1000)
      return { page: await entryPage(context, request, { kind: 'locked', minutes }), status: 429, retryAfterSeconds }
    }
    case 'off':
      return { page: await entryPage(context, request, null), status: 403 }
  }
}

const CLOSED = { outcome: 'closed', application: null } as const

/** The question and its outcome share one URL, so reloading and going back are harmless. */
export const showDecision: PageHandler<UserRequest> = (context, request) => decisionPage(context, request, null)

export const decide: PageHandler<UserRequest> = async (context, request) => {
  const { sessionUser, fields, browser, frame } = request
  const ref = fields.get('ref') ?? ''
  const codeKey = verifyDecision(context.config.keys, ref, sessionUser.id)
  if (!codeKey) return { page: decidedPage(frame, CLOSED), status: 403 }
  const given = readAnswer(fields)
  if (!given) return { refusal: 'invalid_request' }
  const result = await decideOnPage(context, sessionUser, codeKey, given, browser.address)
  if (result.outcome === 'decided') return { seeOther: `/connect/decision?ref=${ref}` }
  if (result.outcome === 'reported') return { page: decidedPage(frame, result) }
  return decisionPage(context, request, result.outcome)
}

/** Asked by the script of the page after *Access allowed*, until the device is connected. */
export const showDelivery: PageHandler<UserRequest> = async (context, { account, sessionUser, fields }) => {
  const codeKey = verifyDecision(context.config.keys, fields.get('ref') ?? '', sessionUser.id)
  const connected = codeKey !== null && (await readDelivery(context, account.id, sessionUser, codeKey))
  return { bytes: Buffer.from(JSON.stringify({ connected })), type: 'application/json', lasting: false }
}

function readAnswer(fields: FormFields): PageDecision | null {
  const decision = fields.get('decision')
  if (decision === 'cancel' || decision === 'not_me') return { decision }
  if (decision !== 'allow') return null
  const shown = (fields.get('shown') ?? '').split(',').filter((name) => name !== '')
  return { decision, shown, lastGroup: fields.get('last_group') ?? '' }
}

/** Releases the claim on the code and signs out, so that another user can enter and decide it. */
export const switchUser: PageHandler<UserRequest> = async (context, { account, sessionUser, fields }) => {
  const codeKey = verifyDecision(context.config.keys, fields.get('ref') ?? '', sessionUser.id)
  if (codeKey) await releaseCode(context, sessionUser.id, codeKey, sessionUser.session.id)
  await signOut(context, account.id, sessionUser)
  return { seeOther: '/sign-in?notice=switched&next=%2Fconnect%2Fcode', cookies: [clearCookie(SESSION)] }
}

async function decisionPage(
  context: Context,
  request: UserRequest,
  problem: ConsentModel['problem'],
): Promise<PageAnswer> {
  const { sessionUser, fields, frame, browser } = request
  const ref = fields.get('ref') ?? ''
  const codeKey = verifyDecision(context.config.keys, ref, sessionUser.id)
  const view = codeKey ? await readDecision(context, sessionUser, codeKey, browser.address) : CLOSED
  if (view.outcome === 'closed') return { page: decidedPage(frame, CLOSED), status: codeKey ? 200 : 403 }
  if (view.outcome === 'stale_session') {
    return {
      seeOther: `/confirm?next=${encodeURIComponent(`/connect/decision?ref=${ref}`)}${view.anew ? '&anew=1' : ''}`,
    }
  }
  if (view.outcome === 'granted' && !view.connected) {
    return { page: decidedPage(frame, { ...view, deliveryAddress: `/connect/delivery?ref=${ref}` }), fetches: true }
  }
  if (view.outcome !== 'open') return { page: decidedPage(frame, view) }
  const model = consentModel(context, request, ref, view, problem)
  return { page: consentPage(frame, model), status: problem === null ? 200 : 400 }
}

function consentModel(
  context: Context,
  { frame }: UserRequest,
  ref: string,
  view: OpenDecision,
  problem: ConsentModel['problem'],
): ConsentModel {
  const { requestedFrom, requestedWith, ageMs, remainingMs, ...rest } = view
  const location = context.geoip.find(requestedFrom)
  return {
    ...rest,
    logo: logoAddress(view.logo),
    ref,
    shown: view.can.map(({ name }) => name).join(','),
    age: ageMs,
    remaining: remainingMs,
    ...accessLifetimes(context.config),
    request: {
      address: requestedFrom,
      place: location.placeName(frame.words.language),
      network: location.network,
      origin: view.origin,
      says: requestedWith,
    },
    problem,
  }
}

async function entryPage(
  context: Context,
  { account, fields, frame }: UserRequest,
  problem: EnterCodeModel['problem'],
): Promise<string> {
  const { off, only } = await readEntryRules(context, account)
  // Only a code typed into this form is shown again; a code in the URL fills in nothing.
  const typed = problem ? (fields.get('code') ?? '').slice(0, 60) : ''
  const otherAccount = otherAccountAddress(context)
  return enterCodePage(frame, { typed, problem, off, only, otherAccount })
}
