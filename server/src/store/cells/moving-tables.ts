/** Tables that move with a bucket, and those that stay. A test compares both lists with the schema. */

/** What leads from a row to its account. */
type Owner = 'bucket' | 'account' | 'user' | 'role' | 'management_key'

export type MovingTable = {
  readonly name: string
  readonly owner: Owner
  /** Column with the owner. */
  readonly column: string
  /** Without a key, or with numbers that each cell counts: copied only when no more changes can happen. */
  readonly late?: true
  /** Rows that move, if not all. */
  readonly only?: string
  /** Columns that may be changed at any time: the next use of the credential or session notes it again. */
  readonly unfenced?: readonly string[]
}

const of = (owner: Owner, name: string, more: Partial<MovingTable> = {}): MovingTable => ({
  name,
  owner,
  column: owner === 'bucket' ? 'bucket' : `${owner}_id`,
  ...more,
})

/** Referenced tables before those that refer to them. */
export const MOVING: readonly MovingTable[] = [
  of('bucket', 'accounts'),
  of('account', 'roles'),
  of('role', 'role_scopes'),
  of('account', 'users'),
  of('user', 'user_roles'),
  of('account', 'identity_providers'),
  of('role', 'identity_provider_roles'),
  of('account', 'management_keys', { unfenced: ['last_used_at'] }),
  of('management_key', 'management_requests'),
  of('account', 'sessions', { unfenced: ['last_used_at'] }),
  of('user', 'passkeys'),
  of('user', 'authenticators'),
  of('user', 'recovery_codes'),
  of('user', 'grants', { unfenced: ['last_used_on', 'used_generation'] }),
  of('user', 'links'),
  of('user', 'mails', { late: true, only: 'sent_at is null and given_up_at is null' }),
  of('user', 'code_entries', { late: true }),
  of('account', 'sign_in_failures', { late: true }),
  of('account', 'refusal_counts', { late: true }),
]

/** Rows of the bucket in a moving table; `$1` is the bucket. */
const ROWS: Readonly<Record<Owner, string>> = {
  bucket: '$1',
  account: 'select id from accounts where bucket = $1',
  user: 'select u.id from users u join accounts a on a.id = u.account_id where a.bucket = $1',
  role: 'select r.id from roles r join accounts a on a.id = r.account_id where a.bucket = $1',
  management_key: 'select k.id from management_keys k join accounts a on a.id = k.account_id where a.bucket = $1',
}

export function ofBucket({ owner, column }: Pick<MovingTable, 'owner' | 'column'>): string {
  return `${column} in (${ROWS[owner]})`
}

/**
 * Handed over as they are, with a marker left behind: a code is polled where it was issued
 * (docs/decisions/0060-cells-on-plain-postgresql.md).
 */
export const HANDED_CODES = { name: 'device_codes', owner: 'user', column: 'claimed_by' } as const

/** Deleted in the source with the users: their codes have been exchanged or have expired. */
export const LEFT_DIALOGS = { name: 'dialogs', owner: 'user', column: 'user_id' } as const

/** Tables that no move touches, by reason. */
export const STAYING = {
  'the map and what is replicated from the home cell': [
    'cell_map',
    'cells',
    'bucket_map',
    'code_prefixes',
    'account_buckets',
    'scopes',
    'applications',
    'application_secrets',
    'application_revocations',
    'application_vettings',
    'webhook_endpoints',
  ],
  'of publishers and operators, whose accounts do not move': [
    'application_proposals',
    'application_test_modes',
    'operator_changes',
    'publisher_checks',
    'review_decisions',
    'reviews',
    'suspension_rules',
  ],
  'what happened in this cell': [
    'application_days',
    'application_hours',
    'application_minutes',
    'application_requests',
    'audit_archives',
    'audit_events',
    'audit_seals',
    'counted_days',
    'early_polls',
    'overloads',
    'webhook_deliveries',
  ],
  'of this database': [
    'bucket_moves',
    'grant_changes',
    'live_device_codes',
    'migrations',
    'restores',
    'signing_keys',
    'spent_challenges',
    'this_cell',
  ],
} as const
