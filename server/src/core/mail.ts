/**
 * Mail contents: every kind of mail with the facts it needs. Neither addresses nor secrets: those are computed when the
 * mail is sent.
 */

import type { AlarmingReason } from './grants/revocation-reason.ts'
import type { OperatorChangeKind } from './operator/operator-change.ts'
import type { Decision, Reason } from './reviews/review.ts'
import type { Figures } from './reviews/suspension.ts'

export type MailContent =
  /** `by`: who invited; null: a program with a management key. */
  | { readonly kind: 'invitation'; readonly detail: { readonly by: string | null } }
  | { readonly kind: 'recovery'; readonly detail: Readonly<Record<string, never>> }
  /** The right password was typed in a new browser while many sign-ins fail: its link completes the sign-in. */
  | { readonly kind: 'sign_in'; readonly detail: Readonly<Record<string, never>> }
  /** Too many sign-ins with the user's address failed. */
  | { readonly kind: 'sign_in_locked'; readonly detail: { readonly network: string | null } }
  /** An administrator, or a program with a management key, removed all sign-in methods of the user. */
  | { readonly kind: 'reset'; readonly detail: { readonly by: string | null } }
  | {
      readonly kind: 'grant_created'
      readonly detail: {
        readonly application: string
        /** Descriptions, as on the consent page. */
        readonly permissions: readonly string[]
        readonly requestedFrom: string | null
      }
    }
  /** Digest sent instead of many `grant_created` mails within an hour, a little later. */
  | {
      readonly kind: 'grants_created'
      readonly detail: {
        readonly count: number
        /** Names, the latest last; truncated if there are very many. */
        readonly applications: readonly string[]
      }
    }
  | { readonly kind: 'password_changed'; readonly detail: Readonly<Record<string, never>> }
  | {
      readonly kind: 'sign_in_method_added' | 'sign_in_method_removed'
      readonly detail: { readonly method: 'passkey' | 'authenticator' }
    }
  | { readonly kind: 'recovery_codes_created'; readonly detail: Readonly<Record<string, never>> }
  /** `left`: how many the user has left. */
  | { readonly kind: 'recovery_code_used'; readonly detail: { readonly left: number } }
  /** A grant was revoked without a request by the user, because a credential may have leaked. */
  | { readonly kind: 'grant_ended'; readonly detail: { readonly application: string; readonly reason: AlarmingReason } }
  /**
   * To administrators: within minutes, many users of all accounts entered codes that one application requested from one
   * network.
   */
  | {
      readonly kind: 'many_codes'
      readonly detail: { readonly application: string; readonly people: number; readonly requestedFrom: string | null }
    }
  /**
   * To administrators: the DNS record of a publisher is missing. `lost`: the publisher is therefore no longer verified.
   */
  | {
      readonly kind: 'publisher_record'
      readonly detail: {
        readonly application: string
        readonly domain: string
        /** The DNS name that the record must have. */
        readonly record: string
        readonly lost: boolean
      }
    }

  /**
   * To administrators of the account that registered an application: it polls too fast, or an operator decided about
   * it or answered their request.
   */
  | { readonly kind: 'application_review'; readonly detail: ReviewNotification }
  /** To operators: suspended applications wait for review. */
  | {
      readonly kind: 'suspensions_waiting'
      readonly detail: {
        readonly count: number
        /** Names, the longest waiting first; truncated if there are very many. */
        readonly applications: readonly string[]
        /** Since when the first of them has been waiting. */
        readonly since: number
      }
    }
  /** To administrators: credentials of their applications need a signing key that is going to be retired. */
  | {
      readonly kind: 'credentials_to_renew'
      readonly detail: {
        readonly count: number
        /** Names; truncated if there are very many. */
        readonly applications: readonly string[]
      }
    }
  /** To operators: a change that makes, enables or resets an operator was proposed, confirmed, or made alone. */
  | { readonly kind: 'operator_change'; readonly detail: OperatorChangeNotification }
  /** To operators: a decision about an application that needs two operators was proposed or confirmed. */
  | { readonly kind: 'second_decision'; readonly detail: SecondDecisionNotification }
  /** To administrators: a user became one, and none of them did that on a page. `user`: their id. */
  | { readonly kind: 'administrator_made'; readonly detail: { readonly user: string; readonly by: MadeBy } }
  /** To the address that the user has now: a management key asked for another one. The link keeps or changes it. */
  | { readonly kind: 'address_change'; readonly detail: Readonly<Record<string, never>> }
  /** To administrators: addresses of users are to change. */
  | { readonly kind: 'address_changes'; readonly detail: Readonly<Record<string, never>> }
  /** To administrators, of a key of the service to operators: it was used from a new network. */
  | { readonly kind: 'key_network'; readonly detail: KeyNetwork }
  /** The user's authenticator needs a signing key that is going to be retired. */
  | { readonly kind: 'authenticator_to_renew'; readonly detail: Readonly<Record<string, never>> }
  /** The same for recovery codes. */
  | { readonly kind: 'recovery_codes_to_renew'; readonly detail: Readonly<Record<string, never>> }

export type MadeBy = 'program' | 'host_service' | 'identity_provider' | 'command_line'

export type KeyNetwork = {
  readonly key: string
  readonly label: string
  readonly network: string
  /** It reaches the whole service. */
  readonly ofService: boolean
}

export type OperatorChangeNotification = {
  /** `alone`: on the command line, without a second operator. */
  readonly what: 'proposed' | 'confirmed' | 'alone'
  readonly change: OperatorChangeKind
  /** The user concerned. */
  readonly email: string
  /** The proposer; null: the command line. */
  readonly by: string | null
  readonly confirmedBy: string | null
}

export type SecondDecisionNotification = {
  readonly applicationId: string
  readonly application: string
  readonly decision: Decision
  readonly by: string
  /** Null: not yet confirmed. */
  readonly confirmedBy: string | null
}

/** Answers to requests of developers (core/reviews/queue.ts). `vetted`: the application is approved. */
export const requestAnswers = [
  'vetted',
  'vetting_declined',
  'vetting_withdrawn',
  'profile_accepted',
  'profile_declined',
] as const

export type RequestAnswer = (typeof requestAnswers)[number]

export type ReviewNotification = {
  readonly what:
    | 'warned'
    | 'suspended'
    | 'expired'
    | 'reinstated'
    | 'slowed'
    | 'restored'
    | 'kept'
    | 'revoked'
    | RequestAnswer
  readonly applicationId: string
  readonly application: string
  /** State after the event. */
  readonly suspended: boolean
  /** Null: decided by the rule, not by an operator. */
  readonly reason: Reason | null
  /** Message of the operator. */
  readonly words: string | null
  readonly figures: Figures | null
  /**
   * After a warning: when suspension becomes possible. After a suspension: when it ends by itself; null: when an
   * operator has reviewed it.
   */
  readonly until: number | null
  readonly intervalSeconds: number | null
}
