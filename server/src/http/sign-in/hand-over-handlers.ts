/** Handlers for accounts whose users sign in at the host service: the way there, and the way back. */
import type { Context } from '../../flows/context.ts'
import {
  finishHandOver,
  type HandOverResult,
  handOverAddress,
  hostOf,
  mayAppear,
  RETURN_PATH,
  recentSeconds,
} from '../../flows/sign-in/hand-over.ts'
import { signOut } from '../../flows/sign-in/sessions.ts'
import type { HostService } from '../../host-service.ts'
import { type AtHostModel, atHostPage } from '../../pages/sign-in/at-host.tsx'
import { handOverRefusedPage } from '../../pages/sign-in/hand-over-refused.tsx'
import type { Frame } from '../../pages/ui/frame.ts'
import { readClock } from '../../store/device/partitions.ts'
import type { FormFields } from '../parameters.ts'
import type { PageAnswer, PageHandler, PageRequest, UserRequest } from '../web/answer.ts'
import { DIALOG, DIALOG_SECONDS, setCookie } from '../web/cookies.ts'
import { nextPath } from '../web/next-path.ts'
import { sessionCookies } from './session-cookies.ts'

const REASONS: readonly AtHostModel['reason'][] = ['signed_out', 'switched', 'ended']

/**
 * `max_age` when users switch or have granted many codes: forces a new sign-in at the host service. Not 0: the new sign-in is already a moment old when the host service compares its age, which would start a loop.
 */
const ANEW_SECONDS = 10

/**
 * Redirects to the host service. With a `notice`, shows a page with a link instead: after signing out, a redirect would
 * sign the user in again at once.
 */
export async function goToHost(
  context: Context,
  request: PageRequest,
  host: HostService,
  next: string,
): Promise<PageAnswer> {
  const reason = REASONS.find((each) => each === request.fields.get('notice'))
  if (reason === undefined) return redirect(context, host, request, next)
  return askToContinue(context, request, host, reason, next, reason === 'switched' ? ANEW_SECONDS : null)
}

/** Shows a link: a form may lead here, and CSP `form-action` forbids that it redirects to the host service. */
export async function confirmAtHost(
  context: Context,
  request: UserRequest,
  host: HostService,
  next: string,
  anew: boolean,
): Promise<PageAnswer> {
  return askToContinue(context, request, host, 'confirm', next, anew ? ANEW_SECONDS : recentSeconds(context))
}

function askToContinue(
  context: Context,
  { account, frame, browser, now }: PageRequest,
  host: HostService,
  reason: AtHostModel['reason'],
  next: string,
  maxAgeSeconds: number | null,
): PageAnswer {
  const address = handOverAddress(context, host, account, { next, maxAgeSeconds }, now, browser)
  return { page: atHostPage(frame, { reason, address }), cookies: [markCookie(browser)] }
}

type Visit = Pick<PageRequest, 'browser' | 'now'> & { readonly account: { readonly slug: string } }

function redirect(context: Context, host: HostService, { account, browser, now }: Visit, next: string): PageAnswer {
  const wish = { next, maxAgeSeconds: null }
  return {
    seeOther: handOverAddress(context, host, account, wish, now, browser),
    cookies: [markCookie(browser)],
  }
}

/** Cookie of the browser mark, to which the challenge is bound. */
function markCookie({ mark }: PageRequest['browser']): string {
  return setCookie(DIALOG, mark, DIALOG_SECONDS)
}

export const returnFromHost: PageHandler<PageRequest> = async (context, request) => {
  const { account, sessionUser, fields, browser, frame, now } = request
  const host = hostOf(context, account)
  if (!host) return { refusal: 'not_found' }
  const next = nextPath(fields.get('next'))
  const result = await finishHandOver(context, host, account.slug, fields.get('statement') ?? '', now, browser)
  if (result.outcome === 'signed_in' && sessionUser) await signOut(context, account.id, sessionUser)
  return returned(context, frame, result, next)
}

function returned(context: Context, frame: Frame, result: HandOverResult, next: string): PageAnswer {
  if (result.outcome === 'no_keys') return { refusal: 'unavailable' }
  if (result.outcome === 'refused') {
    return { page: handOverRefusedPage(frame, { problem: result.problem, next }), status: 403 }
  }
  return { seeOther: next, cookies: sessionCookies(context, result) }
}

type FirstUse = { readonly route: { readonly method: string }; readonly fields: FormFields; readonly here: string }

/**
 * For a host whose account does not exist yet: sends the browser to the host service if the account may appear there.
 */
export async function answerFirstUse(
  context: Context,
  { slug, path }: { readonly slug: string; readonly path: string },
  { route, fields, here }: FirstUse,
  frame: Frame,
  browser: PageRequest['browser'],
): Promise<PageAnswer | null> {
  const host = hostOf(context, { slug })
  if (!host || route.method !== 'GET' || !mayAppear(context, slug)) return null
  const now = await readClock(context.db)
  if (path !== RETURN_PATH) return redirect(context, host, { account: { slug }, browser, now }, nextPath(here))
  const result = await finishHandOver(context, host, slug, fields.get('statement') ?? '', now, browser)
  return returned(context, frame, result, nextPath(fields.get('next')))
}
