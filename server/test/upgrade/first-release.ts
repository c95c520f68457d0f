/**
 * A database of the first release at size: its seven migrations, applied by the program of that release, and rows as it writes
 * them. Made by PostgreSQL itself, once per size and run of the engines; every caller gets a copy.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import pg from 'pg'
import { sealBatch } from '../../src/flows/audit/seal.ts'
import { openPostgres, type Queryable, Unavailable } from '../../src/store/postgres/postgres.ts'
import { createEmptyDatabase, type EmptyDatabase, engineUrl } from '../rig/engines/database.ts'
import { makeConfig, makeEnvironment } from '../rig/make.ts'

export type Sizes = { readonly grants: number; readonly applications: number }

const ACCOUNTS = 1_000
const GRANTS_PER_USER = 10
/** One grant in so many has an event: the audit log is sealed as the service does it, which takes longer than all other rows. */
const GRANTS_PER_EVENT = 50
const SEALED_AT_ONCE = 1_000

/** `executable`: `latchkey` of the first release. */
export async function copyFirstRelease(sizes: Sizes, executable: string): Promise<EmptyDatabase> {
  return createEmptyDatabase(await ensureFirstRelease(sizes, executable))
}

async function ensureFirstRelease(sizes: Sizes, executable: string): Promise<string> {
  const name = `first_release_${sizes.grants}_${sizes.applications}`
  const admin = new pg.Client({ connectionString: engineUrl('DATABASE_URL') })
  await admin.connect()
  try {
    const { rows } = await admin.query('select from pg_database where datname = $1', [name])
    if (rows.length > 0) return name
    const building = await createEmptyDatabase()
    await promisify(execFile)(process.execPath, [executable, 'migrate'], {
      env: { PATH: process.env.PATH, ...makeEnvironment({ DATABASE_URL: building.url }) },
    })
    await fill(building.url, sizes)
    await sealAll(building.url)
    await admin.query(`alter database ${building.name} rename to ${name}`)
    return name
  } finally {
    await admin.end()
  }
}

async function fill(url: string, sizes: Sizes): Promise<void> {
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' })
  await client.connect()
  // Foreign keys hold by construction; checking each of millions takes most of the time.
  await client.query('set session_replication_role = replica')
  await client.query("select make_audit_partitions(date_trunc('month', now() - interval '1 month', 'UTC'))")
  for (const [sql, ...values] of statements(sizes)) await client.query(`${sql}`, values)
  await client.query('vacuum analyze')
  await client.end()
}

function statements({ grants, applications }: Sizes): readonly (readonly [string, ...number[]])[] {
  const users = Math.ceil(grants / GRANTS_PER_USER)
  const id = (prefix: string, number: string) => `'${prefix}_' || lpad((${number})::text, 12, '0')`
  return [
    [
      `insert into accounts (id, slug, name, created_at)
       select ${id('acc', 'i')}, 'first-' || i, 'Account ' || i, now() - interval '90 days' from generate_series(0, $1::int - 1) i`,
      ACCOUNTS,
    ],
    [
      "insert into scopes (name, title, created_at) values ('orders:read', 'Read orders', now()) on conflict do nothing",
    ],
    [
      `insert into users (id, account_id, email, created_at)
       select ${id('usr', 'i')}, ${id('acc', `i % ${ACCOUNTS}`)}, 'user' || i || '@first.example', now() - interval '90 days'
       from generate_series(0, $1::int - 1) i`,
      users,
    ],
    [
      `insert into applications (id, account_id, name, allowed_scopes, default_scopes, required_scopes, device_flow, created_at, change_number)
       select ${id('app', 'i')}, ${id('acc', `i % ${ACCOUNTS}`)}, 'Application ' || i, '{orders:read}', '{orders:read}', '{}', true,
         now() - interval '90 days', nextval('application_changes')
       from generate_series(0, $1::int - 1) i`,
      applications,
    ],
    [
      `insert into application_secrets (id, application_id, key_id, digest, created_at)
       select ${id('sec', 'i')}, ${id('app', 'i')}, 1, sha256(gen_random_uuid()::text::bytea), now() - interval '90 days'
       from generate_series(0, $1::int - 1) i`,
      applications,
    ],
    // A tenth is revoked, a third is access keys, half came by a dialog, and some were used today.
    [
      `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, dialog_id, key_id, created_at,
         issued_at, last_used_on, revoked_at, revocation_reason)
       select 'grt_' || left(md5(i::text), 20), gen_random_uuid(), ${id('acc', `(i % $2) % ${ACCOUNTS}`)}, ${id('usr', 'i % $2')},
         ${id('app', 'i % $3')}, case i % 3 when 0 then 'access_key' else 'token_set' end, '{orders:read}',
         case when i % 2 = 0 then gen_random_uuid() end, case when i % 2 = 1 then gen_random_uuid() end, 1, made.at, made.at,
         now()::date - i % 30, case when i % 10 = 9 then now() - interval '1 day' end, case when i % 10 = 9 then 'removed_by_user' end
       from generate_series(0, $1::int - 1) i, lateral (select now() - (i % 80 + 2) * interval '1 day' as at) made`,
      grants,
      users,
      applications,
    ],
    [
      `insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, grant_id, detail)
       select now() - (i % 20) * interval '1 hour', 'grant.created', 'user', g.user_id, 'web', g.account_id, g.user_id, g.application_id, g.id,
         jsonb_build_object('variant', g.variant, 'scopes', g.scopes)
       from generate_series(0, $1::int - 1, $2) i join grants g on g.id = 'grt_' || left(md5(i::text), 20)`,
      grants,
      GRANTS_PER_EVENT,
    ],
  ]
}

async function sealAll(url: string): Promise<void> {
  const db = openPostgres(url, 2)
  const config = makeConfig({ DATABASE_URL: url })
  const events = await countOf(db, 'audit_events')
  while ((await countOf(db, 'audit_seals')) < events) {
    // A batch that took too long on a busy machine is tried again.
    await sealBatch({ db, config }, SEALED_AT_ONCE).catch(passUnavailable)
  }
  await db.close()
}

async function countOf(db: Queryable, table: 'audit_events' | 'audit_seals'): Promise<number> {
  return (await db.query<{ count: number }>(`select count(*) as count from ${table}`)).rows[0]?.count ?? 0
}

function passUnavailable(error: unknown): void {
  if (!(error instanceof Unavailable)) throw error
}
