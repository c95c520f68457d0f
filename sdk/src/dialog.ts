/**
 * Dialog (authorization code grant): a window in which the user signs in and grants or rejects the request. PKCE and
 * `state` are generated here. docs/interface/dialog.md.
 */
import { type CallOptions, unlessAborted } from './abort.ts'
import type { Context } from './context.ts'
import { scopeText, type TokenSet } from './credentials.ts'
import {
  type Attempt,
  addressOf,
  createAttempt,
  type Exchanger,
  type Returned,
  readCode,
  storeAttempt,
  takeAttempt,
} from './dialog/attempt.ts'
import { type DialogCode, exchangeCode } from './dialog/exchange.ts'
import { currentPage, type DialogWindow, type Page, type PageEvent } from './dialog/page.ts'
import { awaitAnswer, deliver, openWindow } from './dialog/window.ts'
import { LatchkeyError } from './errors.ts'
import type { Tokens } from './tokens.ts'

export type { DialogCode } from './dialog/exchange.ts'
export type { DialogWindow } from './dialog/page.ts'

export interface DialogOptions {
  /** One of the application's registered redirect URIs, on the origin of this page. The page there calls `complete`. */
  readonly redirectUri: string
  readonly scope?: readonly string[] | string | undefined
  /** Aborts the attempt and closes the window. */
  readonly signal?: AbortSignal | undefined
  /**
   * `popup` (the default): opens a window. `redirect`: this window navigates to the dialog and returns. `auto`: opens a
   * window, or redirects this one if the browser blocks it.
   */
  readonly mode?: 'popup' | 'redirect' | 'auto' | undefined
  /** A window that the click handler opened already, for handlers that must await something before calling `open`. */
  readonly window?: DialogWindow | null | undefined
  /**
   * `server`: the application has a secret, which its server keeps; `open` resolves with a code for `exchange` there.
   */
  readonly exchange?: Exchanger | undefined
}

export type DialogResult = TokenSet | DialogCode

/**
 * `delivered`: the page that opened the window received the result. `undelivered`: that page is gone, and the user has
 * to start again.
 */
export type DialogCompletion =
  | { readonly outcome: 'delivered' | 'undelivered' }
  /** This window itself navigated to the dialog; `returnTo` is its address before that. */
  | { readonly outcome: 'completed'; readonly result: DialogResult; readonly returnTo: string }

/**
 * The dialog of a client: `open` and `complete` in pages, `exchange` on a server.
 *
 * @example A server that keeps the secret, for a page that calls `open({ redirectUri, exchange: 'server' })`
 * ```ts
 * import { createServer } from 'node:http'
 * import { json } from 'node:stream/consumers'
 * import { createClient, type DialogCode } from '@latchkey/sdk'
 *
 * const server = createServer(async (request, response) => {
 *   const client = createClient({
 *     baseUrl: 'https://service.example',
 *     appId: 'app_n61zbfpywkrj',
 *     appSecret: process.env.LATCHKEY_APP_SECRET,
 *   })
 *   const code = (await json(request)) as DialogCode
 *   const { scope } = await client.dialog.exchange(code)
 *   response.end(`connected for ${scope.join(', ')}`)
 *   server.close()
 * })
 * server.listen(3000, () => console.log('Post what open() resolved with to port 3000'))
 * ```
 */
export interface Dialog {
  /**
   * Opens the dialog. Call it directly in the click handler, before awaiting anything: otherwise browsers block the
   * window.
   */
  open(options: DialogOptions & { readonly exchange: 'server' }): Promise<DialogCode>
  open(options: DialogOptions): Promise<TokenSet>
  /**
   * Call it on the redirect page. Passes the result to the page that opened the window and closes the window, or, after
   * `mode: 'redirect'`, completes the dialog here.
   */
  complete(options?: CallOptions): Promise<DialogCompletion>
  /** Call it on a page that `mode: 'redirect'` returns to. Null if the page was not reached from the dialog. */
  resumeAfterRedirect(options?: CallOptions): Promise<(DialogCompletion & { readonly outcome: 'completed' }) | null>
  /**
   * Exchanges a code on the application's server, with its secret; in a browser `open` does it. Stores the token set.
   */
  exchange(code: DialogCode, options?: CallOptions): Promise<TokenSet>
}

export function createDialog(context: Context, tokens: Tokens): Dialog {
  const { clock, wire } = context
  const appId = context.application.SVCappid
  /** The running attempt. A new `open` aborts it, because both use the same window. */
  let current: { readonly popup: DialogWindow | null; readonly over: AbortController } | null = null

  async function exchange(code: DialogCode): Promise<TokenSet> {
    const set = await exchangeCode(context, code)
    await tokens.accept(set)
    return set
  }

  async function finish(attempt: Attempt, returned: Returned): Promise<DialogResult> {
    const { verifier, redirectUri } = attempt
    const code = { code: readCode(attempt, returned, wire.baseUrl), verifier, redirectUri }
    return attempt.exchange === 'server' ? code : exchange(code)
  }

  async function open(options: DialogOptions): Promise<DialogResult> {
    const page = currentPage()
    const { signal, mode = 'popup' } = options
    signal?.throwIfAborted()
    checkOrigin(page, options.redirectUri)
    const attempt = createAttempt(options.redirectUri, options.exchange ?? 'here', page.location.href)
    const popup = mode === 'redirect' ? null : (options.window ?? openWindow(page, `latchkey-${appId}`))
    if (!popup && mode === 'popup') throw new LatchkeyError('popup_blocked')
    current?.over.abort(new LatchkeyError('dialog_closed'))
    const over = new AbortController()
    const mine = { popup, over }
    current = mine
    const end = () => over.abort(signal?.reason)
    signal?.addEventListener('abort', end)
    try {
      const asked = { baseUrl: wire.baseUrl, appId, scope: scopeText(options.scope) }
      const address = await addressOf(attempt, asked)
      over.signal.throwIfAborted()
      if (!popup) return await leave(page, attempt, address, over.signal)
      popup.location.replace(address)
      popup.focus()
      const returned = await awaitAnswer(page, popup, attempt, { clock, signal: over.signal })
      return await finish(attempt, returned)
    } finally {
      signal?.removeEventListener('abort', end)
      if (current === mine) current = null
      if (current?.popup !== popup) popup?.close()
    }
  }

  async function resumeAfterRedirect(): Promise<(DialogCompletion & { readonly outcome: 'completed' }) | null> {
    const page = currentPage()
    const returned = takeReturned(page)
    if (!returned) return null
    const attempt = takeAttempt(page, returned.get('state') ?? '')
    if (!attempt) throw new LatchkeyError('state_mismatch')
    return { outcome: 'completed', result: await finish(attempt, returned), returnTo: attempt.returnTo }
  }

  async function complete(): Promise<DialogCompletion> {
    const page = currentPage()
    const returned = takeReturned(page)
    if (!returned) {
      throw new LatchkeyError('invalid_request', { message: 'This page was not reached from the dialog.' })
    }
    const attempt = takeAttempt(page, returned.get('state') ?? '')
    if (attempt) return { outcome: 'completed', result: await finish(attempt, returned), returnTo: attempt.returnTo }
    if (!(await deliver(page, returned, clock))) return { outcome: 'undelivered' }
    page.close()
    return { outcome: 'delivered' }
  }

  return {
    open: open as Dialog['open'],
    complete: ({ signal } = {}) => unlessAborted(complete, signal),
    resumeAfterRedirect: ({ signal } = {}) => unlessAborted(resumeAfterRedirect, signal),
    exchange: (code, { signal } = {}) => unlessAborted(() => exchange(code), signal),
  }
}

/** BroadcastChannel, messages to the opener and sessionStorage all require that both pages have the same origin. */
function checkOrigin(page: Page, redirectUri: string): void {
  if (URL.canParse(redirectUri) && new URL(redirectUri).origin === page.location.origin) return
  throw new LatchkeyError('invalid_request', {
    message: 'redirectUri must be a whole address on the origin of the page that opens the dialog.',
  })
}

/**
 * Navigates this window to the dialog. If the user returns with the browser's back button, the attempt ends with
 * `dialog_closed`.
 */
function leave(page: Page, attempt: Attempt, address: string, signal: AbortSignal): Promise<never> {
  storeAttempt(page, attempt)
  page.location.assign(address)
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
    const comeBack = ({ persisted }: PageEvent) => {
      if (!persisted) return
      page.removeEventListener('pageshow', comeBack)
      reject(new LatchkeyError('dialog_closed'))
    }
    page.addEventListener('pageshow', comeBack)
  })
}

const FIELDS = ['code', 'state', 'iss', 'error', 'error_description']

/**
 * Reads the dialog's response parameters and removes them from the address, so that they do not stay in the history and
 * are not used twice.
 */
function takeReturned({ location, history }: Page): Returned | null {
  const url = new URL(location.href)
  const { searchParams } = url
  if (!searchParams.has('state') || !(searchParams.has('code') || searchParams.has('error'))) return null
  const returned = new URLSearchParams()
  for (const name of FIELDS) {
    const value = searchParams.get(name)
    if (value !== null) returned.set(name, value)
    searchParams.delete(name)
  }
  history.replaceState(history.state, '', url.href)
  return returned
}
