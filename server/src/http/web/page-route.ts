/** Route of an account's pages: method, path, required access, and the checks before its handler is called. */
import type { PageHandler, PageRequest, UserRequest } from './answer.ts'

type Route = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Form fields that are covered by the form's signature: they must come back as they were shown. */
  readonly bound?: readonly string[]
  /**
   * The page that contains the form, with `{field}` for values it needs from the form. Used as the return address when
   * the user has to sign in or confirm first, or changes the language after the form came back with a problem.
   */
  readonly from?: string
  /** Requires a recent sign-in: otherwise the user is redirected to /confirm. */
  readonly fresh?: true
  /** The field that may hold a file. */
  readonly file?: string
}

/**
 * `anyone`: no session required, and forms are not signed. All others require a user's session, and every POST a form
 * signed for it. Operator routes exist on one account's host only, for its administrators, from the networks that the
 * configuration names.
 */
export type PageRoute = Route &
  (
    | { readonly access: 'anyone'; readonly handler: PageHandler<PageRequest> }
    | { readonly access: 'user' | 'administrator' | 'operator'; readonly handler: PageHandler<UserRequest> }
  )
