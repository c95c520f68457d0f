/** The operators' queue: whatever waits for a decision about an application, in one list. */
import type { Publisher } from '../applications/application.ts'
import type { ReviewLine } from './review.ts'

/** `suspension`: a review of how it polls, or of reports. The others are requests of its developers. */
export const queueKinds = ['suspension', 'vetting', 'profile'] as const

export type QueueKind = (typeof queueKinds)[number]

/** `vetting`: of an application that nobody has approved. `profile`: a new name or logo. */
export const requestKinds = ['vetting', 'profile'] as const

export type RequestKind = (typeof requestKinds)[number]

export type RequestLine = Pick<
  ReviewLine,
  'id' | 'applicationId' | 'application' | 'account' | 'openedAt' | 'closedAt' | 'suspended'
> &
  (
    | { readonly kind: 'vetting'; readonly outsideGrants: number }
    /** `name`: null if only the logo changes. */
    | { readonly kind: 'profile'; readonly name: string | null; readonly logo: boolean }
  )

export type QueueLine = (ReviewLine & { readonly kind: 'suspension' }) | RequestLine

export type VettingRequest = {
  readonly kind: 'vetting'
  /** E-mail address of the developer; null: nobody asked, or the user is gone. */
  readonly by: string | null
  /** When it was requested, or approved. */
  readonly since: number
  readonly approved: boolean
  /** Users of other accounts who connected it before it was approved. */
  readonly outsideGrants: number
  readonly scopes: readonly string[]
  readonly redirectUris: readonly string[]
}

export type ProfileRequest = {
  readonly kind: 'profile'
  /** As in VettingRequest; null also if the verification of the publisher made it. */
  readonly by: string | null
  readonly since: number
  readonly publisher: Publisher
  readonly nameNow: string
  readonly logoVersionNow: string | null
  readonly name: string
  readonly logoVersion: string | null
  /** Version of the proposal. */
  readonly version: number
}

export type DeveloperRequest = VettingRequest | ProfileRequest
