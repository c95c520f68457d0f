/** What a handler gives back: plain values. How they look on the wire is decided in respond.ts, for every handler alike. */
import type { RefusalCode } from '../core/refusal.ts'

/** Fields of a success, in the order in which they are written. Lists only where there is no XML. */
export type Fields = Readonly<Record<string, string | number | boolean | readonly string[]>>

export type Answer = (
  | { readonly status: 200 | 201; readonly fields: Fields }
  /** All there is to say is in the headers. */
  | { readonly status: 200; readonly headers: Readonly<Record<string, string>> }
  /** A text of another kind, made beforehand. */
  | { readonly status: 200; readonly text: string; readonly type: string }
  | { readonly refusal: RefusalCode; readonly message?: string }
) & {
  readonly retryAfterSeconds?: number
  readonly allow?: string
  /** How to authenticate, with a 401 that a credential can fix. */
  readonly wwwAuthenticate?: string
  /** The one origin whose pages may read this (Fetch, section 3.2.3). */
  readonly allowOrigin?: string
  /** For an answer whose fate matters: called once, with whether it could be handed to the network. */
  readonly whenSent?: (sent: boolean) => Promise<void>
}

/** `standard`: JSON in the words of the RFCs. */
export type Format = 'json' | 'xml' | 'standard'
