/** What a handler of an account's pages is given and gives back: a page's text or where to go next, never a response. */

import type { Context } from '../../flows/context.ts'
import type { Browser } from '../../flows/sign-in/sessions.ts'
import type { Frame } from '../../pages/ui/frame.ts'
import type { RefusalModel } from '../../pages/ui/refusal.tsx'
import type { HostAccount, SessionUser } from '../../store/sign-in/sessions.ts'
import type { FormFields } from '../parameters.ts'

export type PageRequest = {
  readonly account: HostAccount
  readonly sessionUser: SessionUser | null
  /** PostgreSQL's clock, at the beginning of this request. */
  readonly now: number
  /** Of the query for GET, of the form for POST: never both. */
  readonly fields: FormFields
  /** Only where the route takes one. */
  readonly file: Buffer | null
  readonly frame: Frame
  readonly browser: Browser & {
    /** The dialog's cookie on this host, if it has the shape of one. */
    readonly dialogMark: string | null
  }
}

/** Never null on a route for users. */
export type UserRequest = PageRequest & { readonly sessionUser: SessionUser }

export type PageAnswer = (
  | { readonly page: string; readonly status?: 200 | 400 | 403 | 404 | 429 | 503 }
  | { readonly seeOther: string }
  | { readonly refusal: RefusalModel['code']; readonly allow?: string }
  /** `lasting`: under this address there will never be anything else. With a name, a browser keeps it as a file. */
  | { readonly bytes: Buffer; readonly type: string; readonly lasting: boolean; readonly fileName?: string }
) & {
  readonly cookies?: readonly string[]
  /** The one origin, beside our own, that a form of this page may lead to. */
  readonly formTarget?: string
  readonly retryAfterSeconds?: number
  /** Done once the answer is on its way, so that how long it takes says nothing to whoever asked. */
  readonly afterwards?: () => Promise<void>
}

export type PageHandler<Request extends PageRequest> = (context: Context, request: Request) => Promise<PageAnswer>
