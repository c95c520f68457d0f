/**
 * Lines of the revocation journal: what was ended, by id, so that a restore of PostgreSQL does not undo it.
 * docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md
 */
import type { AuditKind } from '../audit/kind.ts'

/** Events that are written to the journal. Those that give something back are, because they settle an earlier line. */
export const journalledKinds = [
  'account.closed',
  'application.deleted',
  'application.restored',
  'application.secret_revoked',
  'application.secret_rotated',
  'application.suspended',
  'code.rejected',
  'database.restored',
  'grant.created',
  'grant.issued',
  'grant.restored',
  'grant.revoked',
  'key.retired',
  'management_key.revoked',
  'user.disabled',
  'user.enabled',
  'user.erased',
  'user.password_set',
  'user.reset',
] as const satisfies readonly AuditKind[]

export type JournalledKind = (typeof journalledKinds)[number]

/** Kinds that a replay does not need. A process that finds events that no process of its machine wrote leaves these out. */
const NOT_REPLAYED: readonly JournalledKind[] = ['code.rejected', 'database.restored', 'grant.created', 'grant.issued']

export const replayedKinds: readonly JournalledKind[] = journalledKinds.filter((kind) => !NOT_REPLAYED.includes(kind))

/** An audit event. Fields that the event does not have are absent. */
export type EventLine = {
  readonly kind: JournalledKind
  /** Id and time of the event, as PostgreSQL writes it: together they are unique, also after a restore. */
  readonly event: number
  readonly at: string
  readonly account?: string
  readonly user?: string
  readonly application?: string
  readonly grant?: string
  readonly code?: string
  /** Of a revoked grant. */
  readonly reason?: string
  /** Ids of revoked application secrets. */
  readonly secret?: string
  readonly revokedSecrets?: readonly string[]
  readonly managementKey?: string
  /** Number of a retired signing key. */
  readonly key?: number
}

/** A credential was replaced by the next generation. Not an audit event: refreshes are too many. */
export type GenerationLine = {
  readonly kind: 'refresh_token' | 'access_key'
  readonly grant: string
  readonly generation: number
  /** When it was issued: epoch milliseconds, PostgreSQL's. */
  readonly issuedAt: number
  /** Number of the signing key. */
  readonly key: number
}

/** An access token of this generation was accepted, so that its refresh token has arrived. */
export type UseLine = { readonly kind: 'access_token'; readonly grant: string; readonly generation: number }

export type JournalLine = EventLine | GenerationLine | UseLine

export function isEventLine(line: JournalLine): line is EventLine {
  return 'event' in line
}

const KINDS: readonly string[] = [...journalledKinds, 'refresh_token', 'access_key', 'access_token']

/** Null: empty, cut off by a crash, or of a kind that a newer version writes. */
export function parseLine(text: string): JournalLine | null {
  if (!text.startsWith('{')) return null
  try {
    const line = JSON.parse(text) as JournalLine
    return KINDS.includes(line.kind) ? line : null
  } catch {
    return null
  }
}
