/**
 * Router of all hosts: finds the route by path and method, and reads the body as far as the route allows. The API, the
 * pages of the base host and those of the account hosts each have a table of routes and use the functions of this file.
 */
import type { IncomingMessage } from 'node:http'
import { type BodyRules, readForm, readJson } from './form.ts'
import type { Form } from './parameters.ts'
import type { RouteKey } from './route.ts'
import { isSameOrigin } from './web/same-origin.ts'

/** The routes of one path. */
export type PathRoutes<R extends RouteKey> = {
  /** The path in the table: the value of the route label in metrics and logs. */
  readonly path: string
  readonly byMethod: ReadonlyMap<string, R>
  /** Serves the methods that `byMethod` lacks. */
  readonly everyMethod: R | undefined
  /** The `Allow` header of a 405. */
  readonly allow: string
}

/** By path, compared without percent-decoding: `/code%2exml` is not `/code.xml`. */
export type Router<R extends RouteKey> = ReadonlyMap<string, PathRoutes<R>>

/** `pathsOf`: all paths under which a route is served, if it has more than its own. */
export function createRouter<R extends RouteKey>(
  routes: readonly R[],
  pathsOf: (route: R) => readonly string[] = ({ path }) => [path],
): Router<R> {
  const served = routes.flatMap((route) => pathsOf(route).map((path) => ({ path, route })))
  const byPath = Map.groupBy(served, ({ path }) => path)
  return new Map(Array.from(byPath, ([path, group]) => [path, pathRoutes(group.map(({ route }) => route))]))
}

function pathRoutes<R extends RouteKey>(routes: readonly R[]): PathRoutes<R> {
  // HEAD uses the GET route: Node omits the body.
  const methods = routes.flatMap((route): [string, R][] =>
    route.method === 'GET'
      ? [
          ['GET', route],
          ['HEAD', route],
        ]
      : [[route.method, route]],
  )
  const byMethod = new Map(methods)
  const everyMethod = routes.find((route) => route.everyMethod)
  return { path: routes[0]?.path ?? '', byMethod, everyMethod, allow: [...byMethod.keys()].join(', ') }
}

/** What a route accepts beside its path. */
export type FormRules = BodyRules & {
  /** The only origin whose pages may send the form; null: programs and pages of any origin may. */
  readonly origin: string | null
  /** Parameters in the query count for a POST as well. */
  readonly query: boolean
  /** The body of a GET is read as well. */
  readonly bodyOfGet: boolean
  /** The body is JSON instead of a form. */
  readonly json: boolean
  /** The field that may hold a file. */
  readonly file: string | null
}

/**
 * A request whose route is known. `form`: its body, which may still be arriving; undefined if there is none or it is not
 * read. `query` is empty if the route ignores it.
 */
export type Received<R> = { readonly route: R; readonly query: string; readonly form: Promise<Form> | undefined }

/** `stale`: the form comes from another origin. */
export type Unreceived<Code = 'method_not_allowed' | 'stale'> = { readonly refusal: Code; readonly allow?: string }

/**
 * Throws a Refusal if the headers announce a body that is too large or of another type; `form` rejects with one if that
 * shows later. Await it at once: nothing else handles the rejection.
 */
export function receive<R extends RouteKey>(
  request: IncomingMessage,
  { byMethod, everyMethod, allow }: PathRoutes<R>,
  query: string,
  rulesOf: (route: R) => FormRules,
): Received<R> | Unreceived {
  const route = byMethod.get(request.method ?? '') ?? everyMethod
  if (!route) return { refusal: 'method_not_allowed', allow }
  const rules = rulesOf(route)
  const { origin, query: queryOfPost, bodyOfGet, json } = rules
  const get = route.method === 'GET'
  if (!get && origin !== null && !isSameOrigin(request.headers, origin)) return { refusal: 'stale' }
  const form = get && !bodyOfGet ? undefined : json ? readJson(request, rules.maxBytes) : readForm(request, rules)
  return { route, query: get || queryOfPost ? query : '', form }
}
