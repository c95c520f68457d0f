/** Request and answer types of page handlers. An answer is a page's text or a redirect, never a response object. */

import type { Context } from '../../flows/context.ts'
import type { Browser } from '../../flows/sign-in/sessions.ts'
import type { Frame } from '../../pages/ui/frame.ts'
import type { RefusalModel } from '../../pages/ui/refusal.tsx'
import type { HostAccount, SessionUser } from '../../store/sign-in/sessions.ts'
import type { FormFields } from '../parameters.ts'

export type PageRequest = {
  readonly account: HostAccount
  readonly sessionUser: SessionUser | null
  /** PostgreSQL's clock at the start of this request. */
  readonly now: number
  /** Query fields for GET, form fields for POST: never both. */
  readonly fields: FormFields
  /** Null unless the route takes a file. */
  readonly file: Buffer | null
  readonly frame: Frame
  readonly browser: Browser & {
    /** The proof of a first step, not yet verified. */
    readonly step: string | null
    /** State of a sign-in at the identity provider, still encrypted. */
    readonly providerSignIn: string | null
    /** A passkey of this host was used or added in it. */
    readonly hasPasskey: boolean
  }
}

/** Request on a route that requires a session. */
export type UserRequest = PageRequest & { readonly sessionUser: SessionUser }

export type PageAnswer = (
  | { readonly page: string; readonly status?: 200 | 400 | 403 | 404 | 429 | 503 }
  | { readonly seeOther: string }
  | { readonly refusal: RefusalModel['code']; readonly allow?: string; readonly detail?: string }
  /** `lasting`: the content of this URL never changes and may be cached for good. With `fileName`: a download. */
  | { readonly bytes: Buffer; readonly type: string; readonly lasting: boolean; readonly fileName?: string }
) & {
  readonly cookies?: readonly string[]
  /** Address to which the browser goes on by itself once it shows the page. */
  readonly continueAt?: string
  /** Path of the page that follows, where the request does not name it. */
  readonly next?: string
  /** The one origin beside our own that a form of this page may redirect to. */
  readonly formTarget?: string
  /** The script of this page makes requests to our own origin. */
  readonly fetches?: true
  readonly retryAfterSeconds?: number
  /** Work after the response is sent, so that the response time reveals nothing about it to the client. */
  readonly afterwards?: () => Promise<void>
}

export type PageHandler<Request extends PageRequest> = (context: Context, request: Request) => Promise<PageAnswer>

/** Request for a page of the base host. */
export type BaseRequest = {
  readonly fields: FormFields
  readonly frame: Frame
  /** The browser's network address, as far as it can be determined (client-address.ts). */
  readonly address: string | null
  /** Null if the cookie is absent or given more than once. */
  cookie(name: string): string | null
}

export type BaseHandler = (context: Context, request: BaseRequest) => Promise<PageAnswer>
