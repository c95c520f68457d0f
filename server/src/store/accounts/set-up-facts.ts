/** Facts about the installation: the PostgreSQL server, the database role, and the keys in use. */
import { allowLongQueries, LONG_QUERY, type Postgres, type Queryable } from '../postgres/postgres.ts'

export type ServerFacts = {
  readonly version: string
  /** 150004 is 15.4. */
  readonly versionNumber: number
  /** A standby, or a server set to read-only. */
  readonly readOnly: boolean
}

export async function readServerFacts(db: Queryable): Promise<ServerFacts> {
  const { rows } = await db.query<ServerFacts>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as "versionNumber",
       current_setting('transaction_read_only') = 'on' as "readOnly"`,
  )
  return rows[0] ?? { version: '', versionNumber: 0, readOnly: false }
}

export type RoleFacts = {
  readonly role: string
  /** The role could remove the protection of the audit log. */
  readonly owner: boolean
  /** Tables that the role cannot even read, and `making partitions`. */
  readonly lacking: readonly string[]
}

export async function readRoleFacts(db: Queryable): Promise<RoleFacts> {
  const { rows } = await db.query<RoleFacts>(
    `select current_user as role, r.rolsuper or a.relowner = r.oid as owner,
       array(select c.relname::text from pg_class c
           where c.relnamespace = a.relnamespace and c.relkind in ('r', 'p') and not c.relispartition
             -- A detached month belongs to the owner only.
             and c.relname !~ '^audit_(events|seals)_[0-9]{6}$'
             and not has_table_privilege(c.oid, 'select') order by 1)
         || case when has_function_privilege('make_device_code_partition(timestamptz)', 'execute')
                and has_function_privilege('make_audit_partitions(timestamptz)', 'execute')
              then '{}' else '{making partitions}'::text[] end as lacking
     from pg_class a join pg_roles r on r.rolname = current_user where a.oid = 'audit_events'::regclass`,
  )
  return rows[0] ?? { role: '', owner: false, lacking: [] }
}

export type KeyUse = { readonly what: string; readonly keyId: number; readonly count: number }

/** Counts of stored data that needs its key to work. */
export function readKeyUse(db: Postgres): Promise<readonly KeyUse[]> {
  return db.transaction(async (tx) => {
    await allowLongQueries(tx)
    const { rows } = await tx.query<KeyUse>({
      text: `select what, key_id as "keyId", count(*) as count from (
          select 'application secrets' as what, key_id from application_secrets where revoked_at is null
          union all select 'connected applications', key_id from grants where revoked_at is null
          union all select 'authenticators', key_id from authenticators
          union all select 'recovery codes', key_id from recovery_codes
          union all select 'webhooks', key_id from webhook_endpoints where disabled_at is null
          union all select 'management keys', key_id from management_keys where revoked_at is null and expires_at > now()) used
        where key_id not in (select id from signing_keys where retired_at is not null)
        group by what, key_id order by key_id, what`,
      ...LONG_QUERY,
    })
    return rows
  })
}
