/** The context of a page: account, user, language, nonce, form signatures. */
import type { Words } from './words.ts'

/** What every page knows beside its own model. */
export type Frame = {
  readonly words: Words
  /** Null: there is no such account. `logo` is an address. */
  readonly account: {
    readonly name: string
    readonly host: string
    readonly colour: string | null
    readonly logo: string | null
  } | null
  /** Null: nobody is signed in. */
  readonly user: {
    readonly email: string
    readonly administrator: boolean
    /** One of those who run the service, at the one address where they do. */
    readonly operator?: boolean
  } | null
  /** With the query: what the navigation marks as current, and where one comes back to after changing the language. */
  readonly path: string
  readonly nonce: string
  /** Whether mails are sent: an operator has set a mail server. */
  readonly mail: boolean
  /** Inside the window that an application opened: small, one thing to do, nothing that leads away. */
  readonly dialog: boolean
  /** Signs a form: the token ties it to this session, its action and the values that must come back as they were shown. */
  sign(action: string, bound: Readonly<Record<string, string>>): string
}
