/**
 * Server for an account's host: finds the account and the session, then runs the checks common to all routes. They are
 * in one place so that no handler can forget one.
 *
 * `http/web/` is the transport layer of the web interface. A handler reads fields, calls one flow and picks a page.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../core/refusal.ts'
import { appliesTo, type SignInPart } from '../../core/sign-in/origin.ts'
import { accountOrigin } from '../../flows/accounts/address.ts'
import type { Context } from '../../flows/context.ts'
import { accountHas } from '../../flows/sign-in/origin.ts'
import { countRefusedPage } from '../../flows/sign-in/refused-pages.ts'
import { lacksSecondFactorElsewhere, readSecondFactorDuty } from '../../flows/sign-in/second-factor.ts'
import { isFresh, type ReadSession, readSession } from '../../flows/sign-in/sessions.ts'
import type { Frame } from '../../pages/ui/frame.ts'
import { refusalPage } from '../../pages/ui/refusal.tsx'
import { createBrowserMark, isBrowserMark } from '../../secrets/dialog-texts.ts'
import { isSignedForm } from '../../secrets/web-texts.ts'
import { Unavailable } from '../../store/postgres/postgres.ts'
import type { AccountSession, HostAccount, SessionUser } from '../../store/sign-in/sessions.ts'
import { createNetworkCheck, type RequestAddressReader } from '../client-address.ts'
import { isInDialog } from '../dialog/dialog-window.ts'
import { type FormFields, MAX_PARAMETERS } from '../parameters.ts'
import type { PageRoute } from '../route.ts'
import type { PathRoutes } from '../router.ts'
import { answerFirstUse } from '../sign-in/hand-over-handlers.ts'
import { tooBusy } from '../too-much.ts'
import type { PageAnswer, PageRequest, UserRequest } from './answer.ts'
import { BROWSER, DIALOG, LANGUAGE, PASSKEY, PROVIDER, readCookie, SESSION, STEP, setCookie } from './cookies.ts'
import { formHolder, frameFor } from './frame.ts'
import { type ReceivedPage, receivePage } from './receive-page.ts'
import { type ResponseOptions, respondPage } from './respond.ts'
import { createUploadTurns, type UploadTurn } from './upload-turns.ts'

export type Asked = {
  readonly requestId: string
  readonly slug: string
  readonly path: string
  readonly query: string
  /** Undefined if no route has this path. */
  readonly found: PathRoutes<PageRoute> | undefined
}

/** Larger than for API requests: a form may have a check box for every scope of the catalogue. */
const MAX_FORM_BYTES = 64 * 1024
const MAX_FIELDS = 1_000

const MAX_UPLOAD_BYTES = 512 * 1024

/** Delay of work after a response, which has arrived by then: its timing reveals nothing about that work. */
const DEFERRED_MS = 200

/** Pages that are shed under overload: they are not urgent, and no decision or revocation needs them. */
const SHEDDABLE_PAGES = /^\/developer(\/|$)/

/** `track` receives the work that follows a response, so that shutdown waits for it. */
export function createAccountServer(
  context: Context,
  addressOf: RequestAddressReader,
  track: (work: Promise<void>) => void,
) {
  const secure = context.config.publicUrl.startsWith('https:')
  const takeUploadTurn = createUploadTurns(context)
  const isOutsideOperatorNetworks = createOperatorNetworkCheck(context.config.operatorNetworks)
  return async (request: IncomingMessage, response: ServerResponse, asked: Asked): Promise<void> => {
    const { requestId } = asked
    const nonce = randomBytes(16).toString('base64')
    const origin = { headers: request.headers, slug: asked.slug, nonce }
    let dialog = isInDialog(asked.path, new URLSearchParams(asked.query).get('next'))
    let frame = frameFor(context, { ...origin, here: '/', dialog }, null)
    const options: ResponseOptions = {
      requestId,
      nonce,
      secure,
      inDialog: () => dialog,
      refuse: (code) => refusalPage(frame, { code, requestId, detail: null }),
    }
    let turn: UploadTurn | null = null
    try {
      if (request.method !== 'POST' && SHEDDABLE_PAGES.test(asked.path) && context.load.sheds('page')) {
        return respondPage(response, options, tooBusy())
      }
      const browser = browserOf(request)
      turn = await takeUploadTurn(request, asked)
      if (turn.body === 'busy') return respondPage(response, options, tooBusy())
      const received = await receiveRequest(context, request, asked, turn)
      const barred = 'route' in received && isOutsideOperatorNetworks(received.route, browser.address)
      const admitted: ReceivedRequest | PageAnswer = barred ? { refusal: 'elsewhere' } : received
      const session = await readSession(context, asked.slug, readCookie(request.headers.cookie, SESSION))
      if (!session) {
        const answered = 'route' in admitted ? await answerFirstUse(context, asked, admitted, frame, browser) : admitted
        return respondPage(response, options, answered ?? { refusal: 'no_account' })
      }
      if ('route' in admitted) dialog ||= isInDialog(asked.path, admitted.fields.get('next') ?? null)
      frame = frameFor(context, { ...origin, here: 'route' in admitted ? admitted.here : asked.path, dialog }, session)
      const answered = 'route' in admitted ? await answer(context, admitted, session, frame, browser) : admitted
      if ('refusal' in answered && 'route' in received) {
        countRefusedPage(context, session, received.route.path, answered.refusal, browser)
      }
      if (answered.next !== undefined) dialog ||= isInDialog(asked.path, answered.next)
      const given = { ...answered, cookies: [...renewedSessionCookie(session), ...(answered.cookies ?? [])] }
      respondPage(response, options, given)
      if (given.afterwards) {
        const work = sleep(DEFERRED_MS).then(given.afterwards)
        track(work.catch((error) => context.events.taskFailed('deferred work of a page', error)))
      }
    } catch (error) {
      respondPage(response, options, { refusal: pageRefusalFor(context, error) })
    } finally {
      turn?.end()
    }
  }

  function browserOf(request: IncomingMessage): PageRequest['browser'] {
    const { cookie, 'accept-language': accepted } = request.headers
    const mark = readCookie(cookie, DIALOG)
    return {
      mark: mark !== null && isBrowserMark(mark) ? mark : createBrowserMark(),
      step: readCookie(cookie, STEP),
      providerSignIn: readCookie(cookie, PROVIDER),
      hasPasskey: readCookie(cookie, PASSKEY) !== null,
      address: addressOf(request),
      agent: request.headers['user-agent']?.slice(0, 200) ?? null,
      known: readCookie(cookie, BROWSER),
      language: context.languages.choose(readCookie(cookie, LANGUAGE), accepted ?? null),
    }
  }
}

/** The session cookie, signed anew. Sent before the answer's own cookies, which override it: signing out clears it. */
function renewedSessionCookie({ sessionUser, newCookie, now }: ReadSession): readonly string[] {
  if (!sessionUser || newCookie === undefined) return []
  return [setCookie(SESSION, newCookie, (sessionUser.session.expiresAt - now) / 1000)]
}

/** Whether a route for operators is requested from outside OPERATOR_NETWORKS. Without that setting, never. */
function createOperatorNetworkCheck(
  networks: readonly string[],
): (route: PageRoute, address: string | null) => boolean {
  const isWithin = createNetworkCheck(networks)
  return ({ access }, address) =>
    access === 'operator' && networks.length > 0 && (address === null || !isWithin(address))
}

/**
 * A completely received request. The session is read only after the body, so that access rights cannot become stale
 * while a form is sent slowly.
 */
type ReceivedRequest = ReceivedPage<PageRoute> & {
  /** Address at which to show the page again: the request's own, or for a form that of its page. */
  readonly here: string
}

async function receiveRequest(
  context: Context,
  request: IncomingMessage,
  { slug, path, query, found }: Asked,
  { body }: UploadTurn,
): Promise<ReceivedRequest | PageAnswer> {
  if (!found || !existsOnHost(context, slug, found)) return { refusal: 'not_found' }
  const upload = body === 'refuse' && found.byMethod.get('POST')
  if (upload) return { route: upload, fields: new Map(), file: null, here: '/' }
  const origin = accountOrigin(context, slug)
  const received = await receivePage(request, found, query, ({ file = null, fromProgram = false }) => ({
    origin: fromProgram ? null : origin,
    query: false,
    bodyOfGet: false,
    json: false,
    maxBytes: MAX_FORM_BYTES,
    maxMultipartBytes: file === null ? null : MAX_UPLOAD_BYTES,
    maxFields: file === null ? MAX_FIELDS : MAX_PARAMETERS,
    file,
  }))
  if ('refusal' in received) return received
  const { route, fields } = received
  const asked = query === '' ? path : `${path}?${query}`
  return { ...received, here: route.method === 'GET' ? asked : fillIn(route.from ?? '/', fields) }
}

/** Operator routes exist on the operators' host only; on any other they are a 404 for every user. */
function existsOnHost(context: Context, slug: string, { byMethod }: PathRoutes<PageRoute>): boolean {
  const forOperators = [...byMethod.values()].some(({ access }) => access === 'operator')
  return !forOperators || slug === context.config.operatorAccount
}

function fillIn(address: string, fields: FormFields): string {
  return address.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(fields.get(name) ?? ''))
}

async function answer(
  context: Context,
  { route, fields, file, here }: ReceivedRequest,
  { account, sessionUser, now }: AccountSession,
  frame: Frame,
  browser: PageRequest['browser'],
): Promise<PageAnswer> {
  if (route.needs && !isSupported(context, account, sessionUser, route, route.needs)) return { refusal: 'not_found' }
  const given: PageRequest = { account, sessionUser, now, fields, file, frame, browser }
  if (route.access === 'anyone') return route.handler(context, given)
  if (!sessionUser) {
    // CSP `form-action` covers redirects, so a form cannot redirect to the host service: `notice` shows a link.
    const ended = route.method === 'POST' && frame.signInAt !== null ? 'notice=ended&' : ''
    return { seeOther: `/sign-in?${ended}next=${encodeURIComponent(here)}` }
  }
  const { outcome: duty } = readSecondFactorDuty(context, account, sessionUser, now)
  const { beforeSecondFactor: open } = route
  if (duty === 'enrol' && !open) return { seeOther: `/second-factor?next=${encodeURIComponent(here)}` }
  if (duty === 'confirm' && open !== 'always') return { seeOther: `/confirm?next=${encodeURIComponent(here)}` }
  const administers = route.access !== 'user'
  if (administers && !sessionUser.administrator) return { refusal: 'forbidden' }
  if (open !== 'always' && lacksSecondFactorElsewhere(context, sessionUser, administers)) {
    return { refusal: 'second_factor' }
  }
  if (route.method === 'POST' && !isSigned(context, sessionUser, route, fields)) return { refusal: 'stale' }
  if (route.fresh && !isFresh(context, sessionUser, now))
    return { seeOther: `/confirm?next=${encodeURIComponent(here)}` }
  return route.handler(context, { ...given, sessionUser } satisfies UserRequest)
}

/** Pages about the user's own sign-in depend on the user, all others on the account. */
function isSupported(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser | null,
  { access }: PageRoute,
  part: SignInPart,
): boolean {
  return access === 'user' && sessionUser ? appliesTo(sessionUser.origin, part) : accountHas(context, account, part)
}

function isSigned(context: Context, sessionUser: SessionUser, route: PageRoute, fields: FormFields): boolean {
  const bound = Object.fromEntries((route.bound ?? []).map((name) => [name, fields.get(name) ?? '']))
  return isSignedForm(context.config.keys, formHolder(sessionUser), route.path, bound, fields.get('token') ?? '')
}

/** The refusal to show for a thrown error. */
export function pageRefusalFor(context: Context, error: unknown) {
  if (error instanceof Unavailable) return 'unavailable'
  if (error instanceof Refusal) return error.code === 'payload_too_large' ? 'payload_too_large' : 'invalid_request'
  context.events.unexpected('pages', error)
  return 'server_error'
}
