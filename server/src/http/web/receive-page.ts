/** Reader of a page's request, on the base host and on account hosts alike: method, origin of the form, fields. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../core/refusal.ts'
import { called, type FormFields, fileOf, MAX_PARAMETERS, readParameters } from '../parameters.ts'
import type { RouteKey } from '../route.ts'
import { type FormRules, type PathRoutes, receive, type Unreceived } from '../router.ts'

export type ReceivedPage<R> = { readonly route: R; readonly fields: FormFields; readonly file: Buffer | null }

/** Throws a Refusal if the form cannot be read. */
export async function receivePage<R extends RouteKey>(
  request: IncomingMessage,
  found: PathRoutes<R>,
  query: string,
  rulesOf: (route: R) => FormRules,
): Promise<ReceivedPage<R> | Unreceived> {
  const received = receive(request, found, query, rulesOf)
  if ('refusal' in received) return received
  const { route } = received
  const form = await received.form
  const { maxFields, file } = rulesOf(route)
  const fields = readParameters(received.query, form, { max: form ? maxFields : MAX_PARAMETERS, file })
  // PostgreSQL cannot store a NUL, and users do not type it.
  for (const [name, value] of fields) {
    if (name.includes('\0') || value.includes('\0')) {
      throw new Refusal('invalid_request', `${called(name)} contains a NUL character.`)
    }
  }
  return { route, fields, file: file === null ? null : fileOf(form, file) }
}
