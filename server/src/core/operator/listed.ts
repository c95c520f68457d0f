/** Lines of the lists that operators see. */

/** An account. */
export type AccountLine = {
  readonly slug: string
  readonly name: string
  readonly createdAt: number
  /** Users who are not disabled, including invited ones. */
  readonly people: number
  readonly applications: number
  /** Live grants of its users, counted up to a thousand. */
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
  /** Live grants of all users, counted up to a thousand. */
  readonly grants: number
}

/** A user of any account. */
export type PersonLine = {
  readonly id: string
  readonly email: string
  /** Slug. */
  readonly account: string
  readonly createdAt: number
  readonly disabled: boolean
}

/** A grant of any user. */
export type OperatorGrantLine = {
  readonly id: string
  readonly userId: string
  readonly email: string
  /** Slug. */
  readonly account: string
  readonly applicationId: string
  readonly application: string
  readonly connectedAt: number
  /** The start of a day, in UTC. */
  readonly lastUsedOn: number | null
  readonly endedAt: number | null
  /** Null while it is live. A row may have a reason that this version does not know. */
  readonly reason: string | null
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
