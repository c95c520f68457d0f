/**
 * Lines of the revocation journal: what was ended, by id, so that a restore of PostgreSQL does not undo it.
 * docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md
 */
import type { AuditKind } from '../audit/kind.ts'

/** Events after which something has less access than before, or other access. Their lines say what is left. */
export const accessKinds = [
  'account.policy_changed',
  'application.changed',
  'application.publisher_lost',
  'application.publisher_removed',
  'application.publisher_set',
  'management_key.rotated',
  'role.changed',
  'role.removed',
  'user.authenticator_removed',
  'user.passkey_removed',
  'user.roles_changed',
  'user.updated',
  'webhook.removed',
] as const satisfies readonly AuditKind[]

/** Events that took something away and that cannot be repeated from ids: an operator has to look at what came back. */
export const unrepeatableKinds = [
  'account.provider_changed',
  'application.test_mode_ended',
  'application.vetting_withdrawn',
  'user.recovery_code_used',
  'user.recovery_codes_created',
] as const satisfies readonly AuditKind[]

/** Events that are written to the journal. Those that give something back are, because they settle an earlier line. */
export const journalledKinds = [
  ...accessKinds,
  ...unrepeatableKinds,
  'account.closed',
  'application.deleted',
  'application.restored',
  'application.secret_revoked',
  'application.secret_rotated',
  'application.suspended',
  'code.rejected',
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
const NOT_REPLAYED: readonly JournalledKind[] = ['code.rejected', 'grant.created', 'grant.issued']

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
  readonly role?: string
  /** Of an application's webhooks. */
  readonly endpoint?: string
  /** Of a revoked grant. */
  readonly reason?: string
  /** Ids of revoked application secrets. */
  readonly secret?: string
  readonly revokedSecrets?: readonly string[]
  readonly managementKey?: string
  /** Number of a retired signing key. */
  readonly key?: number
  /** Of `accessKinds`: what its subject has after the event, as `access_of` of the migrations names it. */
  readonly left?: readonly string[]
  /** The e-mail address of a user was changed. */
  readonly address?: true
  /** Appended by another process than the one that wrote the event, possibly an hour later. */
  readonly late?: true
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

/** Null: empty, cut off by a crash, of a kind that a newer version writes, or not of this form at all. */
export function parseLine(text: string): JournalLine | null {
  if (!text.startsWith('{')) return null
  try {
    const line = JSON.parse(text) as JournalLine
    return KINDS.includes(line.kind) && isWellFormed(line) ? line : null
  } catch {
    return null
  }
}

const MAX_GENERATION = 2 ** 31 - 1

/** Whether PostgreSQL can compare it: a line without a valid proof is compared as well, and may have been made by anybody. */
function isWellFormed(line: JournalLine): boolean {
  if (isEventLine(line)) return Number.isSafeInteger(line.event) && typeof line.at === 'string'
  const { grant, generation } = line
  return /^\w{1,40}$/.test(grant) && Number.isInteger(generation) && generation > 0 && generation <= MAX_GENERATION
}

/** Id of what an event is about. */
export function subjectOf(line: Omit<EventLine, 'kind'> & { readonly kind: AuditKind }): string | undefined {
  switch (line.kind.slice(0, line.kind.indexOf('.'))) {
    case 'account':
      return line.account
    case 'application':
      return line.application
    case 'code':
      return line.code
    case 'grant':
      return line.grant
    case 'management_key':
      return line.managementKey
    case 'role':
      return line.role
    case 'webhook':
      return line.endpoint
    default:
      return line.user
  }
}
