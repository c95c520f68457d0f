/** Dependencies that the parts of a client share. */
import type { Clock } from './clock.ts'
import type { Credentials } from './credentials.ts'
import type { LatchkeyError } from './errors.ts'
import type { Store } from './store.ts'
import type { Wire } from './wire.ts'

export interface ClientEvents {
  /** A token set or an access key was stored: after a grant, and after every renewal. */
  tokens: Credentials
  /** The access has ended; only the user can grant it again. */
  reauthorize: LatchkeyError
}

export interface Context {
  readonly wire: Wire
  readonly clock: Clock
  readonly store: Store
  readonly holdPolls: boolean
  /** Identifies the application in every request. A public application has no secret. */
  readonly application: { readonly SVCappid: string; readonly SVCsecret?: string }
  readonly emit: <K extends keyof ClientEvents>(name: K, value: ClientEvents[K]) => void
}
