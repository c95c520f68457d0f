/** What waits for an operator, or fails, besides the review queue; as counts. */
export type Attention = {
  /** The newest restore of PostgreSQL that nobody has dealt with. */
  readonly restore: {
    /** From when on changes may be missing: epoch milliseconds. */
    readonly since: number
    /** Whether what was ended in the lost time is known, and was ended again. */
    readonly journalled: boolean
    readonly lostGrants: number
    /** Matters that an operator has to accept. */
    readonly toAccept: number
  } | null
  /** Decisions about applications that a second operator has to confirm. */
  readonly decisions: number
  /** Changes of operators that another operator has to confirm. */
  readonly operatorChanges: number
  readonly suspended: number
  /** Applications with an endpoint that takes no deliveries; the first few by name. */
  readonly failingWebhooks: {
    readonly count: number
    readonly applications: readonly { readonly id: string; readonly name: string }[]
  }
}
