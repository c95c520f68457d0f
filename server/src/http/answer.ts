/** What a handler gives back: plain values. How they look on the wire is decided in respond.ts, for every handler alike. */
import type { RefusalCode } from '../core/refusal.ts'

/** Fields of a success, in the order in which they are written. */
export type Fields = Readonly<Record<string, string | number>>

export type Answer = (
  | { readonly status: 200; readonly fields: Fields }
  | { readonly refusal: RefusalCode; readonly message?: string }
) & {
  readonly retryAfterSeconds?: number
  readonly allow?: string
  /** How to authenticate, with a 401 that a credential can mend. */
  readonly wwwAuthenticate?: string
  /** For an answer whose fate matters: called once, with whether it could be handed to the network. */
  readonly whenSent?: (sent: boolean) => Promise<void>
}

export type Format = 'json' | 'xml'
