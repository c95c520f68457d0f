/** Model of the security page: a user's sign-in methods and sessions. */
import type { PasswordProblem } from '../../core/sign-in/password.ts'

export type SecurityModel = {
  readonly hasPassword: boolean
  readonly problem: null | 'wrong' | PasswordProblem | 'passkey' | 'last_passkey' | 'required' | 'locked'
  readonly notice:
    | null
    | 'password'
    | 'passkey_added'
    | 'passkey_removed'
    | 'authenticator_added'
    | 'authenticator_removed'
    | 'session_ended'
  readonly passkeys: readonly {
    readonly id: string
    readonly name: string
    readonly createdOn: number
    readonly lastUsedOn: number | null
  }[]
  /** JSON of PublicKeyCredentialCreationOptions. */
  readonly passkey: string
  readonly authenticator: { readonly createdOn: number } | null
  /** How many recovery codes are left; null: the user has no second factor that they could replace. */
  readonly recoveryCodes: number | null
  /** Those used last first. */
  readonly sessions: readonly {
    readonly id: string
    readonly current: boolean
    readonly createdAt: number
    /** Noted every few minutes. */
    readonly lastUsedAt: number
    /** User-Agent as sent. */
    readonly agent: string | null
    readonly place: string | null
    readonly address: string | null
  }[]
}
