/** An audit event as people read it: with the names behind its ids. */
import type { AuditDetail } from './detail.ts'

/** The actor. `name` is null if unknown. */
export type Who =
  | { readonly is: 'person' | 'application'; readonly name: string | null }
  | { readonly is: 'operator' | 'service' | 'management_key' | 'somebody' }

export type AuditEntry = {
  readonly id: number
  readonly at: number
  readonly kind: string
  readonly who: Who
  /** The subjects of the entry, by name or, without one, by id. */
  readonly person: string | null
  readonly application: string | null
  readonly applicationId: string | null
  /** Slug; only where entries of several accounts are listed. */
  readonly account: string | null
  readonly grantId: string | null
  readonly deviceCodeId: string | null
  readonly detail: AuditDetail
  /** Of the request that caused it; null: a job or the command line. */
  readonly requestId: string | null
  /** Position in the hash chain; null until sealed. */
  readonly position: number | null
}
