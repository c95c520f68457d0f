/**
 * Routes: those for programs and for browsers on the base host, which routes.ts lists, and those of an account's pages,
 * which web/account-routes.ts lists. All have a method, a path and a handler; the other fields are what differs.
 */
import type { SignInPart } from '../core/sign-in/origin.ts'
import type { Context } from '../flows/context.ts'
import type { Answer } from './answer.ts'
import type { Operation } from './openapi/operation.ts'
import type { FormFields } from './parameters.ts'
import type { BaseHandler, PageHandler, PageRequest, UserRequest } from './web/answer.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * A path may have named segments, as in `/manage/1/accounts/{account}`: in the management API and SCIM. Elsewhere a named
 * segment at the end of a path stands for everything below it.
 */
export type RouteKey = {
  readonly method: Method
  readonly path: string
  /** Answers every method, and never reads a body: a gateway passes on the method of the request that it asks about. */
  readonly everyMethod?: true
}

/** Browsers send no other methods. */
type PageKey = RouteKey & { readonly method: 'GET' | 'POST' }

/** Values of the named segments of a path, decoded. */
export type Segments = Readonly<Record<string, string>>

/** The part of a request that a handler may see. The URL is left out: it may contain a secret. */
export type ApiRequest = {
  /** Query and form together. Throws a Refusal. */
  parameters(): FormFields
  /** The form only: the standard dialect accepts no secrets in the URL (RFC 6749, section 2.3.1). Throws a Refusal. */
  form(): FormFields
  /** The JSON body; null if there is none. Throws a Refusal. */
  json(): unknown
  /** Values of the named segments of the path. */
  readonly segments: Segments
  header(name: string): string | null
  /** The client's network address, as far as it can be determined (client-address.ts). */
  address(): string | null
  readonly draining: boolean
  /** Calls back when the client disconnects. Returns a function that stops it. */
  onDisconnect(callback: () => void): () => void
}

export type Handler = (context: Context, request: ApiRequest) => Promise<Answer>

/** Route for programs. */
export type Endpoint = RouteKey & {
  readonly handler: Handler
  /**
   * `interface`: the path, also under /1, and both also with .xml. `standard`: only the path, with the names of the
   * RFCs. `plain`: only the path. `manage` and `scim`: only the path, with JSON bodies.
   */
  readonly dialect: 'interface' | 'standard' | 'plain' | 'manage' | 'scim'
  readonly operation: Operation
}

/** Route for browsers on the base host. */
export type BasePage = PageKey & {
  readonly handler: BaseHandler
  readonly dialect: 'page'
  /** Also served under /1. */
  readonly versioned?: true
  /** Accepts a form from an application's page, on any origin, and parameters in the query as well. */
  readonly fromAnywhere?: true
  /** Only for pages that an application has to know. */
  readonly operation?: Operation
}

export type BaseRoute = Endpoint | BasePage

/** Below a path that stands for everything below it, `.xml` belongs to a client's path. */
export function hasXml({ path, dialect }: BaseRoute): boolean {
  return dialect === 'interface' && !path.endsWith('}')
}

/** All paths under which a route is served. */
export function pathsOf(route: BaseRoute): readonly string[] {
  const { path, dialect } = route
  if (dialect === 'interface') {
    const versions = [path, `/1${path}`]
    return hasXml(route) ? [...versions, ...versions.map((version) => `${version}.xml`)] : versions
  }
  return dialect === 'page' && route.versioned ? [path, `/1${path}`] : [path]
}

/** Route of an account's pages: required access, and the checks before its handler is called. */
type AccountRoute = PageKey & {
  /** Form fields that are covered by the form's signature: they must come back as they were shown. */
  readonly bound?: readonly string[]
  /**
   * The page that contains the form, with `{field}` for values it needs from the form. Used as the return address when
   * the user has to sign in or confirm first, or changes the language after the form came back with a problem.
   */
  readonly from?: string
  /** Exists only in accounts for whose users Latchkey does this itself; elsewhere it is a 404. */
  readonly needs?: SignInPart
  /** Requires a recent sign-in: otherwise the user is redirected to /confirm. */
  readonly fresh?: true
  /**
   * Open before the second factor; all other pages lead to it. `enrol`: while the user has none and has to set one up.
   * `always`: also while the user has one and did not prove it in this session.
   */
  readonly beforeSecondFactor?: 'enrol' | 'always'
  /** The field that may hold a file. */
  readonly file?: string
  /** Called by a program, without Origin header and cookies: the handler has to authenticate the request. */
  readonly fromProgram?: true
}

/**
 * `anyone`: no session required, and forms are not signed. All others require a user's session, and every POST a form
 * signed for it. Operator routes exist on one account's host only, for its administrators, from the networks that the
 * configuration names.
 */
export type PageRoute = AccountRoute &
  (
    | { readonly access: 'anyone'; readonly handler: PageHandler<PageRequest> }
    | { readonly access: 'user' | 'administrator' | 'operator'; readonly handler: PageHandler<UserRequest> }
  )
