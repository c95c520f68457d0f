/**
 * Copies of the global tables in every cell, by PostgreSQL's logical replication: a publication in the home cell, a
 * subscription in each other one. Triggers refuse other changes there; replication does not call them.
 */
import type { Session } from '../postgres/postgres.ts'

const PUBLICATION = 'latchkey'
const SUBSCRIPTION = 'latchkey'

/**
 * What is published of each table. Not published: what each cell counts for itself (the last use of a secret, grants of
 * an application that was not vetted), and users, who are in their account's cell only.
 */
const PUBLISHED = [
  'cell_map',
  'cells',
  'bucket_map',
  'code_prefixes',
  'account_buckets',
  'scopes',
  // A publisher's account is needed for the foreign key of its applications, and for its name.
  'accounts (id, slug, name, bucket, publisher, created_at, closed_at, erased_at) where (publisher)',
  'applications',
  'application_secrets (id, application_id, key_id, digest, label, created_at, revoked_at)',
  'application_vettings (application_id, requested_at, vetted_at, vetted_name, vetted_scopes)',
  'application_revocations',
  'application_test_modes (application_id, key_id, digest, started_at, ends_at)',
  'webhook_endpoints',
]

/** Which changes a cell refuses that is not the home cell. */
const REFUSED: readonly (readonly [table: string, changes: string])[] = [
  ['cell_map', 'insert or update or delete'],
  ['cells', 'insert or update or delete'],
  ['bucket_map', 'insert or update or delete'],
  ['code_prefixes', 'insert or update or delete'],
  ['account_buckets', 'insert or update or delete'],
  ['scopes', 'insert or update or delete'],
  ['applications', 'insert or update or delete'],
  ['application_secrets', 'insert or update of revoked_at, label or delete'],
  ['application_revocations', 'insert or update or delete'],
  ['application_test_modes', 'insert or update or delete'],
]

export async function readWalLevel(session: Session): Promise<string> {
  const { rows } = await session.query<{ wal_level: string }>('show wal_level')
  return rows[0]?.wal_level ?? ''
}

/** In the home cell. A publisher is an account with an application; the row filter needs it in the replica identity. */
export async function publishGlobalTables(session: Session): Promise<void> {
  await session.query(
    'create unique index concurrently if not exists accounts_publisher_idx on accounts (id, publisher)',
  )
  await session.query('alter table accounts replica identity using index accounts_publisher_idx')
  await session.query(
    'update accounts set publisher = true where not publisher and id in (select account_id from applications)',
  )
  const { rows } = await session.query('select from pg_publication where pubname = $1', [PUBLICATION])
  // A later version publishes more. Repeating `cell init` and `cell add` makes that known.
  const [change, tables] = [rows.length === 0 ? 'create' : 'alter', PUBLISHED.join(', ')]
  await session.query(`${change} publication ${PUBLICATION} ${rows.length === 0 ? 'for' : 'set'} table ${tables}`)
}

/** Tables of the list that have rows: a database with rows of its own cannot become a copy. */
export async function readFilledTables(session: Session): Promise<readonly string[]> {
  const tables = [...REFUSED.map(([table]) => table), 'accounts']
  const { rows } = await session.query<{ name: string }>(
    tables.map((table) => `select '${table}' as name where exists (select from ${table})`).join(' union all '),
  )
  return rows.map(({ name }) => name)
}

/**
 * The slot is made in a transaction of its own: PostgreSQL would wait for the subscription's own transaction if both
 * databases were on one server. Repeatable.
 */
export async function subscribe(home: Session, cell: Session, homeUrl: string, id: number): Promise<void> {
  const slot = await slotOf(home, id)
  await home.query(
    `select pg_create_logical_replication_slot($1, 'pgoutput')
     where not exists (select from pg_replication_slots where slot_name = $1)`,
    [slot],
  )
  const { rows } = await cell.query(
    'select from pg_subscription where subname = $1 and subdbid = (select oid from pg_database where datname = current_database())',
    [SUBSCRIPTION],
  )
  if (rows.length > 0) return void (await cell.query(`alter subscription ${SUBSCRIPTION} refresh publication`))
  const url = homeUrl.replaceAll("'", "''")
  await cell.query(
    `create subscription ${SUBSCRIPTION} connection '${url}' publication ${PUBLICATION} with (create_slot = false, slot_name = '${slot}')`,
  )
}

/** Names of slots are common to all databases of a server. */
async function slotOf(home: Session, cell: number): Promise<string> {
  const { rows } = await home.query<{ oid: number }>(
    'select oid::int8 as oid from pg_database where datname = current_database()',
  )
  return `latchkey_${rows[0]?.oid}_cell_${cell}`
}

export async function refuseOtherChanges(cell: Session): Promise<void> {
  for (const [table, changes] of REFUSED) {
    await cell.query(
      `create or replace trigger home_only before ${changes} on ${table} for each row execute function refuse_outside_home()`,
    )
  }
}

/** The decisions of reviews are in the home cell, the grants that they revoked in any. */
export async function dropKeysToHome(cell: Session): Promise<void> {
  await cell.query('alter table grants drop constraint if exists grants_revoked_by_decision_fkey')
}

/** Whether the first copy of every table is complete. */
export async function isCopied(cell: Session): Promise<boolean> {
  const { rows } = await cell.query<{ copied: boolean }>(
    `select coalesce(bool_and(srsubstate in ('r', 's')), false) as copied from pg_subscription_rel`,
  )
  return rows[0]?.copied ?? false
}
