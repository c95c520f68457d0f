/** Reader of a page's request, on the base host and on account hosts alike: method, origin of the form, fields. */
import type { IncomingMessage } from 'node:http'
import { type FormFields, MAX_PARAMETERS, readFile, readParameters } from '../parameters.ts'
import type { RouteKey } from '../route.ts'
import { type FormRules, type PathRoutes, receive, type Unreceived } from '../router.ts'

export type ReceivedPage<R> = { readonly route: R; readonly fields: FormFields; readonly file: Buffer | null }

/** Throws a Refusal if the form cannot be read. */
export async function receivePage<R extends RouteKey>(
  request: IncomingMessage,
  found: PathRoutes<R>,
  query: string,
  rulesOf: (route: R) => FormRules,
): Promise<ReceivedPage<R> | Unreceived<'method_not_allowed' | 'stale' | 'invalid_request'>> {
  const received = receive(request, found, query, rulesOf)
  if ('refusal' in received) return received
  const { route } = received
  const form = await received.form
  const { maxFields, file } = rulesOf(route)
  const fields = readParameters(received.query, form, form ? maxFields : MAX_PARAMETERS, file)
  // PostgreSQL cannot store a NUL, and users do not type it.
  if ([...fields].flat().some((text) => text.includes('\0'))) return { refusal: 'invalid_request' }
  return { route, fields, file: file === null ? null : await readFile(form, file) }
}
