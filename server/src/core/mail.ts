/** What people are told by mail: every kind, and the facts each needs. No address, no secret: those are computed when it is sent. */

import type { AlarmingReason } from './grants/revocation-reason.ts'
import type { Reason } from './reviews/review.ts'
import type { Figures } from './reviews/suspension.ts'

export type MailContent =
  | { readonly kind: 'invitation'; readonly detail: { readonly by: string } }
  | { readonly kind: 'recovery'; readonly detail: Readonly<Record<string, never>> }
  /** An administrator took away every way in that the user had. */
  | { readonly kind: 'reset'; readonly detail: { readonly by: string } }
  | {
      readonly kind: 'grant_created'
      readonly detail: {
        readonly application: string
        /** In words, as on the consent page. */
        readonly permissions: readonly string[]
        readonly requestedFrom: string | null
      }
    }
  /** Instead of many such mails within an hour: what they would have told, together and a little later. */
  | {
      readonly kind: 'grants_created'
      readonly detail: {
        readonly count: number
        /** By name, the latest last; not all of them where there are very many. */
        readonly applications: readonly string[]
      }
    }
  | { readonly kind: 'password_changed'; readonly detail: Readonly<Record<string, never>> }
  | {
      readonly kind: 'sign_in_method_added' | 'sign_in_method_removed'
      readonly detail: { readonly method: 'passkey' | 'authenticator' }
    }
  /** Access was ended without anybody asking for it here, because a credential seems to be in the wrong hands. */
  | { readonly kind: 'grant_ended'; readonly detail: { readonly application: string; readonly reason: AlarmingReason } }
  /** To administrators: many people, of all accounts, were asked by one application from one network within minutes. */
  | {
      readonly kind: 'many_codes'
      readonly detail: { readonly application: string; readonly people: number; readonly requestedFrom: string | null }
    }
  /** To administrators: an operator has looked at an application's new name or logo. */
  | {
      readonly kind: 'profile_decided'
      readonly detail: {
        readonly application: string
        /** Null: it was accepted. */
        readonly reason: string | null
      }
    }
  /** To administrators: a publisher's record is not in DNS any more. `lost`: so the application is not verified any more. */
  | {
      readonly kind: 'publisher_record'
      readonly detail: {
        readonly application: string
        readonly domain: string
        /** The name under which it has to be. */
        readonly record: string
        readonly lost: boolean
      }
    }

  /** To administrators of the account that registered an application: it polls too fast, or somebody decided about it. */
  | { readonly kind: 'application_review'; readonly detail: ReviewNotification }
  /** To operators: suspended applications wait for a review. */
  | {
      readonly kind: 'suspensions_waiting'
      readonly detail: {
        readonly count: number
        /** By name, the longest waiting first; not all of them where there are very many. */
        readonly applications: readonly string[]
        /** Since when the first of them waits. */
        readonly since: number
      }
    }

export type ReviewNotification = {
  readonly what: 'warned' | 'suspended' | 'expired' | 'reinstated' | 'slowed' | 'kept' | 'revoked' | 'undone'
  readonly applicationId: string
  readonly application: string
  /** After what it tells. */
  readonly suspended: boolean
  /** Null: no person decided it, but the rule. */
  readonly reason: Reason | null
  /** The operator's own. */
  readonly words: string | null
  readonly figures: Figures | null
  /** When it may be suspended after a warning, or when a suspension ends by itself; null: when an operator has reviewed it. */
  readonly until: number | null
  readonly intervalSeconds: number | null
}

/** What made us end an access: a copy of something that works once was used, or somebody found a credential in public. */
