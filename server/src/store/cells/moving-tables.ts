/** Tables that move with a bucket, and those that stay. A test compares both lists with the schema. */

/** What leads from a row to its account. */
type Owner = 'bucket' | 'account' | 'user' | 'role' | 'management_key'

export type MovingTable = {
  readonly name: string
  readonly owner: Owner
  /** Column with the owner. */
  readonly column: string
  /**
   * Tables without a key, or with numbers that each cell counts, are copied only when no more changes can happen. `last`:
   * with the last changes. `afterwards`: when the target has the bucket already, because no decision waits for them.
   */
  readonly copied?: 'last' | 'afterwards'
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
  of('account', 'address_changes'),
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
  of('user', 'mails', { copied: 'afterwards', only: 'sent_at is null and given_up_at is null' }),
  of('user', 'code_entries', { copied: 'afterwards' }),
  of('account', 'sign_in_failures', { copied: 'afterwards' }),
  of('account', 'refusal_counts', { copied: 'last' }),
]

/** Rows of some buckets in a moving table. `buckets`: a list or a query. */
function rowsOf({ owner, column }: Pick<MovingTable, 'owner' | 'column'>, buckets: string): string {
  const accounts = `a.bucket in (${buckets})`
  const rows: Readonly<Record<Owner, string>> = {
    bucket: buckets,
    account: `select a.id from accounts a where ${accounts}`,
    user: `select u.id from users u join accounts a on a.id = u.account_id where ${accounts}`,
    role: `select r.id from roles r join accounts a on a.id = r.account_id where ${accounts}`,
    management_key: `select k.id from management_keys k join accounts a on a.id = k.account_id where ${accounts}`,
  }
  return `${column} in (${rows[owner]})`
}

/** Rows of one bucket; `$1` is the bucket. */
export function ofBucket(table: Pick<MovingTable, 'owner' | 'column'>): string {
  return rowsOf(table, '$1')
}

/**
 * Excludes rows of buckets that are moving, for statements about many accounts: a change of one of them may be refused
 * (`refuse_moving`), and then none is made. What is left out is done after the move, in the cell that has it then.
 */
export function notMoving(name: string): string {
  const table = MOVING.find((each) => each.name === name)
  if (!table) return 'true'
  return `(not exists (select from bucket_moves) or (${rowsOf(table, 'select bucket from bucket_moves')}) is not true)`
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
    'processes',
    'restores',
    'signing_keys',
    'spent_challenges',
    'this_cell',
  ],
} as const
