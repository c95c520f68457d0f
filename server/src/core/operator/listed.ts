/** Lines of the lists that operators see. */

/** An account. */
export type AccountLine = {
  readonly slug: string
  readonly name: string
  readonly createdAt: number
  /** Users who are not disabled, including invited ones. */
  readonly people: number
  readonly applications: number
  /** Live grants of its users. */
  readonly grants: number
}

/** An application of any account. */
export type ApplicationLine = {
  readonly id: string
  readonly name: string
  /** Slug of the account that registered it. */
  readonly account: string
  readonly createdAt: number
  readonly suspended: boolean
  /** Live grants of all users. */
  readonly grants: number
}

/** A background task of this process. */
export type TaskLine = {
  /** Same name as in the log. */
  readonly name: string
  readonly everyMs: number
  /** By the monotonic clock of this process; null if it has not succeeded since the start. */
  readonly succeededAgoMs: number | null
  readonly failedAgoMs: number | null
  readonly failure: string | null
  /** No success for several intervals (flows/operator/tasks.ts). */
  readonly overdue: boolean
}
