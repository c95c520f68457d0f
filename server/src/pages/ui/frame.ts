/** Context of a page: account, user, language, nonce, form signatures. */
import type { Words } from './words.ts'

/** The operator's product: its name, its logo, and addresses of its own pages. */
export type Service = {
  readonly name: string
  /** Path on every host, and the whole URL for mails. */
  readonly logo: { readonly path: string; readonly url: string } | null
  readonly links: readonly { readonly kind: 'help' | 'privacy' | 'terms'; readonly href: string }[]
}

export type Frame = {
  readonly words: Words
  readonly service: Service
  /** Null: no such account. `logo` is a URL. */
  readonly account: {
    readonly name: string
    readonly host: string
    readonly colour: string | null
    readonly logo: string | null
  } | null
  /** Host of the service at which the users of the account sign in; null: they sign in here. */
  readonly signInAt: string | null
  /** Null: not signed in. */
  readonly user: {
    readonly email: string
    readonly administrator: boolean
    /** An operator, on the host of the operators' account. */
    readonly operator?: boolean
    /** Host of the identity provider at which the user signs in; null or absent: not at one. */
    readonly signsInAt?: string | null
    /** Until when the user has to set up a second factor; null: has one, or needs none. */
    readonly secondFactorBy?: number | null
  } | null
  /** With the query: marks the current navigation entry, and is the return target after a language change. */
  readonly path: string
  readonly nonce: string
  /** A mail server is configured, so mails are sent. */
  readonly mail: boolean
  /** Inside a dialog: small window, one task, no links that lead away. */
  readonly dialog: boolean
  /** Signs a form: the token binds it to this session, its action and the `bound` values. */
  sign(action: string, bound: Readonly<Record<string, string>>): string
}
