/** What the consent page shows and asks. */
import type { Publisher } from '../applications/publisher.tsx'
import type { LackingPermission, Permission } from './consent-permissions.tsx'

export type ConsentModel = {
  readonly ref: string
  /** The scopes as shown; the form is tied to them. */
  readonly shown: string
  readonly application: string
  readonly publisher: Publisher
  /** The address of its logo. Null: it has none, or none that is shown. */
  readonly logo: string | null
  /** In groups. */
  readonly userCode: string
  /** Milliseconds since it was asked for, and until it ends. */
  readonly age: number
  readonly remaining: number
  readonly variant: 'token_set' | 'access_key'
  /** After so many days without use a token set ends. */
  readonly unusedDays: number
  /** After so many days it ends in any case. */
  readonly maxDays: number
  readonly request: {
    readonly address: string | null
    readonly place: string | null
    readonly network: string | null
    /** Another country than the viewer's. */
    readonly elsewhere: boolean
    /** What the application's device calls itself. */
    readonly says: string | null
  }
  readonly can: readonly Permission[]
  readonly lacking: readonly LackingPermission[]
  readonly grantable: boolean
  readonly suspended: boolean
  /** The last group of the code must be typed again. */
  readonly retype: boolean
  /** Many people were asked by this application from the same place in the last minutes. */
  readonly crowded: boolean
  /** Another user of the account entered the same code. */
  readonly shared: boolean
  readonly problem: null | 'retype' | 'changed'
  /** Shown to whoever makes the application. It looks the same, and nothing of it can be answered. */
  readonly preview?: true
}
