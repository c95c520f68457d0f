/**
 * PostgreSQL checks: it answers, is new enough, has this version's schema and partitions, and the role has the rights
 * that the service needs.
 */
import type { Config } from '../../config.ts'
import { missingPartitions } from '../../flows/sweep.ts'
import { readRoleFacts, readServerFacts } from '../../store/accounts/set-up-facts.ts'
import { countMissingMonths } from '../../store/audit/partitions.ts'
import { pendingMigrations, readSchemaState } from '../../store/postgres/migrate.ts'
import { isRefusalOfPooler } from '../../store/postgres/pooler.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'
import { isLocal } from './configuration.ts'
import { broken, type Finding, ok, warning } from './finding.ts'

const OLDEST = 150_000

/** Connection errors by SQLSTATE: what happened, and how to fix it. */
const REFUSALS: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  '3D000': [
    'The database in DATABASE_URL does not exist.',
    'Create it ("create database latchkey"), then run "latchkey migrate".',
  ],
  '28000': ['PostgreSQL rejects the user in DATABASE_URL.', 'Correct the user or pg_hba.conf.'],
  '28P01': ['PostgreSQL rejects the password in DATABASE_URL.', 'Correct the password in DATABASE_URL.'],
}

export async function examinePostgres(db: Postgres): Promise<Finding> {
  try {
    const { version, versionNumber, readOnly } = await readServerFacts(db)
    if (versionNumber < OLDEST)
      return broken('postgresql', `PostgreSQL is ${version}; 15 or later is required.`, 'Upgrade PostgreSQL.')
    if (readOnly) {
      const remedy = 'Set DATABASE_URL to the primary. If it is the primary, set default_transaction_read_only to off.'
      return broken('postgresql', 'PostgreSQL is read-only, for example a standby.', remedy)
    }
    return ok('postgresql', `PostgreSQL ${version.split(' ')[0]} is reachable.`)
  } catch (error) {
    const { code = '', message } = error as Error & { code?: string }
    if (isRefusalOfPooler(message)) {
      const remedy =
        'Configure it as deploy/pgbouncer/pgbouncer.ini does (docs/operations/connections.md, "Connection poolers").'
      return broken(
        'postgresql',
        `The connection pooler does not fit: ${message.replace(/^PostgreSQL: /, '')}.`,
        remedy,
      )
    }
    const [what, remedy] = REFUSALS[code] ?? [
      `PostgreSQL is unreachable: ${message.replace(/^PostgreSQL: /, '')}.`,
      'Start it, or correct the host and port in DATABASE_URL.',
    ]
    return broken('postgresql', what, remedy)
  }
}

export async function examineMigrations(databaseUrl: string, db: Postgres): Promise<Finding> {
  const pending = await pendingMigrations(databaseUrl)
  if (pending.length > 0) {
    return broken('migrations', `The database lacks ${pending.join(', ')}.`, 'Run "latchkey migrate".')
  }
  const { unknown, newest } = await readSchemaState(db)
  if (unknown.length > 0) {
    const what = `The database was migrated by a newer version: this version does not include ${unknown.join(', ')}.`
    return warning('migrations', what, 'Run the version of Latchkey that migrated it.')
  }
  return ok('migrations', `The schema is up to date (${newest}).`)
}

/** See docs/operations/audit-log.md, "A role that owns nothing". */
export async function examineRole(db: Postgres, publicUrl: string | undefined): Promise<Finding> {
  const { role, owner, lacking } = await readRoleFacts(db)
  const script = 'psql "$OWNER_URL" -v ON_ERROR_STOP=1 -f deploy/postgresql/service-role.sql'
  if (lacking.length > 0) {
    return broken('role', `The role ${role} lacks privileges: ${lacking.join(', ')}.`, `As the owner, run: ${script}`)
  }
  if (owner && publicUrl !== undefined && !isLocal(publicUrl)) {
    const what = `The role ${role} owns the tables: an attacker who controls the service could rewrite the audit log.`
    return warning('role', what, `Run the service under a role that does not own the tables: ${script}`)
  }
  return ok(
    'role',
    owner
      ? `The role ${role} owns the tables.`
      : `The role ${role} does not own the tables and has all required privileges.`,
  )
}

export async function examinePartitions(db: Postgres, config: Pick<Config, 'deviceCodeLifetimeMs'>): Promise<Finding> {
  const months = await countMissingMonths(db)
  if (months.now) {
    const what = 'The audit log has no partition for this month: every action that is recorded fails.'
    return broken('partitions', what, 'Run "latchkey sweep", or start the service.')
  }
  if (months.count > 0) {
    const what = `Partitions of the audit log are missing for ${months.count} of the next months: the service is not running, or its sweeps fail.`
    return warning(
      'partitions',
      what,
      'Run "latchkey sweep". If the service is running, look for task_failed in its log.',
    )
  }
  const missing = await missingPartitions(db, config.deviceCodeLifetimeMs)
  if (missing === 0)
    return ok('partitions', 'Partitions exist for the next hours of device codes and the next months of audit events.')
  const what = `Partitions of device_codes are missing for ${missing} of the next hours: the service is not running, or its sweeps fail.`
  return warning(
    'partitions',
    what,
    'Run "latchkey sweep". If the service is running, look for task_failed in its log.',
  )
}
