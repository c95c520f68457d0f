/** `latchkey doctor`: checks the set-up that the environment describes and prints what to fix. Changes nothing. */
import { styleText } from 'node:util'
import type { Command } from 'commander'
import { type Config, hasPostgresPassword } from '../config.ts'
import { COMMAND_CONNECT_MS, openPostgres, type Postgres } from '../store/postgres/postgres.ts'
import { type OutputOptions, print } from './client/output.ts'
import { examineClocks } from './doctor/clocks.ts'
import { examineConfiguration, isLocal, readValidSettings } from './doctor/configuration.ts'
import { examinePostgresUrl, examineRedisUrl } from './doctor/connections.ts'
import { broken, type Finding, ok, type Severity, warning, worstOf } from './doctor/finding.ts'
import { examineHosts } from './doctor/hosts.ts'
import { examineKeys } from './doctor/keys.ts'
import { examineMigrations, examinePartitions, examinePostgres, examineRole } from './doctor/postgres.ts'
import type { ExaminedRedis } from './doctor/redis.ts'

const STATUS: Readonly<Record<Severity, number>> = { ok: 0, warning: 1, broken: 2 }
const COLOUR = { ok: 'green', warning: 'yellow', broken: 'red' } as const

export function defineDoctor(doctor: Command): void {
  doctor.option('--json', 'print one JSON object').action(async (options: OutputOptions) => {
    const findings = await examine()
    const severity = worstOf(findings)
    print(options, { severity, findings }, inWords(findings))
    process.exitCode = STATUS[severity]
  })
}

async function examine(): Promise<readonly Finding[]> {
  const { config, problems } = readValidSettings()
  const configuration = await examineConfiguration(config, problems)
  // Imported lazily: no other command uses the Redis client.
  const { examineRedis } = await import('./doctor/redis.ts')
  const redis = config.redisUrl === undefined ? null : await examineRedis(config.redisUrl)
  const db =
    config.databaseUrl === undefined ? null : openPostgres(config.databaseUrl, 2, { connectMs: COMMAND_CONNECT_MS })
  try {
    const database = db ? await examineDatabase(db, config, redis) : { findings: [], ready: false }
    const connections = config.publicUrl !== undefined && isLocal(config.publicUrl) ? [] : examineConnections(config)
    const hosts = config.publicUrl === undefined ? [] : await examineHosts(config.publicUrl, database.ready ? db : null)
    const mail = config.smtpUrl === undefined ? [] : [await examineMail(config.smtpUrl)]
    return [...configuration, ...database.findings, ...(redis?.findings ?? []), ...connections, ...hosts, ...mail]
  } finally {
    await db?.close()
  }
}

/**
 * Runs for a public service only: in an evaluation set-up (deploy/compose.yaml), PostgreSQL and Redis are containers on
 * the same machine.
 */
function examineConnections({ databaseUrl, redisUrl }: Partial<Config>): readonly Finding[] {
  return [
    ...(databaseUrl ? examinePostgresUrl(databaseUrl, hasPostgresPassword()) : []),
    ...(redisUrl ? examineRedisUrl(redisUrl) : []),
  ]
}

type Database = { readonly findings: readonly Finding[]; readonly ready: boolean }

/** Skips checks that depend on a broken one: they would only report the same problem again. */
async function examineDatabase(db: Postgres, config: Partial<Config>, redis: ExaminedRedis | null): Promise<Database> {
  const { databaseUrl = '', keys, publicUrl, deviceCodeLifetimeMs } = config
  const server = await examinePostgres(db)
  if (server.severity === 'broken') return { findings: [server], ready: false }
  const clocks = await examineClocks(db, redis?.clock ?? null)
  const migrations = await examineMigrations(databaseUrl, db)
  if (migrations.severity === 'broken') return { findings: [server, ...clocks, migrations], ready: false }
  const role = await examineRole(db, publicUrl)
  if (role.severity === 'broken') return { findings: [server, ...clocks, migrations, role], ready: false }
  return {
    findings: [
      server,
      ...clocks,
      migrations,
      role,
      ...(keys ? await examineKeys(db, keys) : []),
      ...(deviceCodeLifetimeMs ? [await examinePartitions(db, { deviceCodeLifetimeMs })] : []),
    ],
    ready: true,
  }
}

/** Sends no mail: connects to the mail server, and authenticates if the URL has a password. */
async function examineMail(smtpUrl: string | null): Promise<Finding> {
  const { createMailer } = await import('../mail.ts')
  const mailer = createMailer(smtpUrl, 'doctor@localhost')
  if (!mailer) {
    const remedy = 'Set SMTP_URL. Until then, "latchkey user link" prints one-time links.'
    return warning('mail', 'SMTP_URL is not set: invitations and recovery mails stay in the outbox.', remedy)
  }
  try {
    await mailer.greet()
    return ok('mail', 'The mail server is reachable.')
  } catch (error) {
    const remedy = 'Start it, or correct SMTP_URL. Mails stay in the outbox until then.'
    return broken('mail', `The mail server does not accept mails: ${(error as Error).message}.`, remedy)
  } finally {
    mailer.close()
  }
}

function inWords(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ check, severity, what, remedy }) => [
    `${styleText(COLOUR[severity], severity.padEnd(9))}${check.padEnd(19)}${what}`,
    ...(remedy === null ? [] : [`${' '.repeat(28)}${remedy}`]),
  ])
  const count = (wanted: Severity) => findings.filter(({ severity }) => severity === wanted).length
  const [bad, doubtful] = [count('broken'), count('warning')]
  if (bad + doubtful === 0) return [...lines, '', 'No problems found.'].join('\n')
  return [...lines, '', `${bad} broken, ${doubtful} ${doubtful === 1 ? 'warning' : 'warnings'}.`].join('\n')
}
