/** What waits for an administrator of an account, or fails. */

/** In order of urgency. */
export const ownMatters = ['suspended', 'warned', 'webhooks', 'webhook_secret', 'declined'] as const
export type OwnMatter = (typeof ownMatters)[number]

export type AccountAttention = {
  /** The first few matters of applications that the account registered. */
  readonly applications: readonly { readonly id: string; readonly name: string; readonly matter: OwnMatter }[]
  /** How many there are besides. */
  readonly further: number
  /** Users who need a second factor, now or within a week, and have none. */
  readonly withoutSecondFactor: number
  /** Changes of e-mail addresses that management keys asked for. */
  readonly addressChanges: number
  /** The identity provider is required, and fewer than two emergency administrators can still sign in without it. */
  readonly fewEmergencyAdministrators: boolean
}
