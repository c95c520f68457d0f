/** What a route of an account's pages is: which method and path, for whom, and what is checked before its handler is called. */
import type { PageHandler, PageRequest, UserRequest } from './answer.ts'

type Route = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Values of the form that must come back as they were shown. */
  readonly bound?: readonly string[]
  /**
   * The page on which the form is found, with `{field}` for what it needs of the form: for those who have to sign in or prove
   * themselves first, and for whoever changes the language when the form came back with a problem.
   */
  readonly from?: string
  /** Asks once more who it is when the sign-in is a while ago. */
  readonly fresh?: true
  /** The field that may hold a file. */
  readonly file?: string
}

/**
 * For anyone: no session needed, and forms are not signed. Otherwise a user's session, and every POST signed for it. Routes for
 * operators are there at one account's address only, for its administrators, from the networks that the configuration names.
 */
export type PageRoute = Route &
  (
    | { readonly access: 'anyone'; readonly handler: PageHandler<PageRequest> }
    | { readonly access: 'user' | 'administrator' | 'operator'; readonly handler: PageHandler<UserRequest> }
  )
