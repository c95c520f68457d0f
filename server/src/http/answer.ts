/** Answer of a handler: plain values. respond.ts turns them into the response, for all handlers alike. */
import type { RefusalCode, ScimType } from '../core/refusal.ts'
import type { Held } from '../flows/device/poll.ts'

/** Fields of a success, in the order in which they are written. Lists are used only on routes without XML. */
export type Fields = Readonly<Record<string, string | number | boolean | readonly string[]>>

export type Answer = (
  | { readonly status: 200 | 201; readonly fields: Fields }
  /** The result is in the headers; there is no body. */
  | { readonly status: 200; readonly headers: Readonly<Record<string, string>> }
  /** A ready-made body with its own content type. */
  | { readonly status: 200; readonly text: string; readonly type: string }
  /** Any JSON, for the management API and SCIM. Null: no body. */
  | {
      readonly status: 200 | 201 | 204
      readonly json: object | null
      readonly headers?: Readonly<Record<string, string>>
    }
  | { readonly refusal: RefusalCode; readonly message?: string; readonly scimType?: ScimType | null }
) & {
  readonly retryAfterSeconds?: number
  readonly allow?: string
  /** The `WWW-Authenticate` challenge of a 401 or 403 about a credential. */
  readonly wwwAuthenticate?: string
  /** `Access-Control-Allow-Origin`: the one origin whose pages may read the response (Fetch, section 3.2.3). */
  readonly allowOrigin?: string
  /** The answer was held because the client prefers to wait: `Preference-Applied` (RFC 7240, section 3). */
  readonly held?: Held
  /** Called once, after the response: whether it was handed to the operating system. */
  readonly whenSent?: (sent: boolean) => Promise<void>
}

/** `standard`: JSON with the names of the RFCs. `manage`: JSON whose refusals have a remedy. `scim`: RFC 7644. */
export type Format = 'json' | 'xml' | 'standard' | 'manage' | 'scim'
