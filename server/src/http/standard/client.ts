/**
 * Client identification in the standard dialect: client_secret_basic, client_secret_post or none (RFC 6749, section
 * 2.3.1).
 *
 * `http/standard/` is the second dialect over the same flows: it maps RFC names in and out and contains no rules.
 */
import { Refusal } from '../../core/refusal.ts'
import type { Answer } from '../answer.ts'
import type { FormFields } from '../parameters.ts'
import type { ApiRequest } from '../route.ts'
import { optional, text } from '../schema.ts'

/** The part of every form that names the client. */
export const clientFields = {
  client_id: optional(text('The application’s id. Not needed with HTTP Basic, where it is the user name.')),
  client_secret: optional(
    text('One of the application’s live secrets, unless it is sent by HTTP Basic. A public application has none.'),
  ),
}

export const spacedScopes = optional(
  text('Scopes, separated by spaces. Absent or empty: the application’s default set.', { examples: ['orders:read'] }),
)

/** Described alike wherever public clients are allowed. */
export const asClient = { tag: 'Standard dialect', security: ['applicationBasic', 'none'] } as const

export type Client = { readonly applicationId: string; readonly secret: string | null }

export type ClientRequest = { readonly client: Client; readonly parameters: FormFields }

export const UNKNOWN_CLIENT: Answer = { refusal: 'invalid_application' }

/** Throws a Refusal if the request names no client, or is ambiguous. The flow verifies the secret. */
export function readClient(request: ApiRequest): ClientRequest {
  const parameters = request.form()
  const [id, secret] = [parameters.get('client_id'), parameters.get('client_secret')]
  const basic = readBasic(request)
  if (!basic) {
    if (!id) throw new Refusal('invalid_application', 'There is no client_id, in the form or as HTTP Basic.')
    return { client: { applicationId: id, secret: secret || null }, parameters }
  }
  // Only one method is allowed (RFC 6749, section 2.3). Repeating the same client_id in the form is harmless.
  if (secret || (id !== undefined && id !== basic.applicationId)) {
    throw new Refusal('invalid_request', 'The client authenticates twice; use one way only.')
  }
  return { client: basic, parameters }
}

function readBasic(request: ApiRequest): Client | null {
  const header = request.header('authorization')
  if (header === null) return null
  const encoded = /^Basic +([A-Za-z0-9+/_-]+=*)$/i.exec(header)?.[1]
  const pair = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString()
  const colon = pair.indexOf(':')
  if (colon <= 0) throw new Refusal('invalid_application', 'The Authorization header is not HTTP Basic.')
  return { applicationId: decode(pair.slice(0, colon)), secret: decode(pair.slice(colon + 1)) || null }
}

/** Id and secret are form-encoded before they are joined. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new Refusal('invalid_application', 'The Authorization header cannot be read.')
  }
}
