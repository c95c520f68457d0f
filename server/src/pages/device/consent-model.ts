/** Model of the consent page of the device flow. */
import type { Publisher } from '../../core/applications/application.ts'
import type { Variant } from '../../core/device/code.ts'
import type { Prevention } from '../../core/grants/granting.ts'
import type { LackingPermission, Permission } from './consent-permissions.tsx'

/** What the consent pages of the device flow and of the dialog have in common. */
export type ConsentQuestion = {
  /** The scopes as shown; bound to the form token. */
  readonly shown: string
  readonly application: string
  readonly publisher: Publisher
  /** Logo URL; null if there is none or it must not be shown. */
  readonly logo: string | null
  /** Days without use after which a token set expires. */
  readonly unusedDays: number
  /** Days after which it expires in any case. */
  readonly maxDays: number
  readonly can: readonly Permission[]
  readonly lacking: readonly LackingPermission[]
  /** Why it cannot be allowed. */
  readonly prevented: Prevention | null
  /** Preview for the application's developer: same look, nothing to submit. */
  readonly preview?: true
}

export type ConsentModel = ConsentQuestion & {
  readonly ref: string
  /** With spaces between its groups. */
  readonly userCode: string
  /** Milliseconds since the code was requested, and until it expires. */
  readonly age: number
  readonly remaining: number
  readonly variant: Variant
  readonly request: {
    readonly address: string | null
    readonly place: string | null
    readonly network: string | null
    /** Where the request came from, compared with the viewer. */
    readonly origin: 'same' | 'other_country' | 'other_network' | 'unknown'
    /** Self-description of the device, as sent by the application. */
    readonly says: string | null
  }
  /** The user must retype the last group of the code. */
  readonly retype: boolean
  /** Many users were asked by this application from the same place within the last minutes. */
  readonly crowded: boolean
  /** Another user of the account entered the same code. */
  readonly shared: boolean
  readonly problem: null | 'retype' | 'changed'
}
