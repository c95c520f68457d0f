/** The state in PostgreSQL after a request: an answer alone does not prove what was changed. */
import { recordRefusals } from '../../src/flows/sign-in/refusals.ts'
import { digestUserCode } from '../../src/secrets/user-code.ts'
import { readEveryRow } from './engines/every-row.ts'
import type { MadeUser } from './make.ts'
import type { TestService } from './service.ts'

type CodeRow = {
  readonly id: string
  readonly status: string
  readonly claimed_by: string | null
  readonly entry_closed: boolean
  readonly grant_id: string | null
}

/** Pending, as requested: neither entered nor decided. */
export const UNTOUCHED = { status: 'pending', claimed_by: null, entry_closed: false, grant_id: null }

/** The digest that is stored of a user code. */
export function digestOf({ config }: Pick<TestService, 'config'>, userCode: string): Buffer | undefined {
  return digestUserCode(config.keys, userCode)[0]
}

export async function codeRow(service: TestService, userCode: string): Promise<CodeRow | undefined> {
  const [row] = await service.database.query<CodeRow>(
    `select id, status, claimed_by, entry_closed, grant_id from device_codes
     where user_code_digest = $1 order by created_at desc limit 1`,
    [digestOf(service, userCode)],
  )
  return row
}

/** Resolves when the delivery is saved, which is a moment after the answer. */
export async function collected(service: TestService, userCode: string): Promise<void> {
  for (let look = 0; (await codeRow(service, userCode))?.status !== 'used'; look += 1) {
    if (look === 500) throw new Error('nobody collected it')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Outcomes of a user's code entries, in order. */
export async function entriesOf({ database }: TestService, user: MadeUser): Promise<string[]> {
  const rows = await database.query<{ outcome: string }>(
    'select outcome from code_entries where user_id = $1 order by at',
    [user.id],
  )
  return rows.map(({ outcome }) => outcome)
}

export async function grantsOf({ database }: TestService, user: MadeUser) {
  return database.query<{ id: string; application_id: string; scopes: string[]; revocation_reason: string | null }>(
    'select id, application_id, scopes, revocation_reason from grants where user_id = $1 order by created_at',
    [user.id],
  )
}

/** Kinds of events about a user, or about a code, in order. */
export async function eventKinds(
  { database }: TestService,
  about: { readonly user?: MadeUser; readonly code?: CodeRow | undefined },
): Promise<string[]> {
  const rows = await database.query<{ kind: string }>(
    `select kind from audit_events
     where ($1::text is null or user_id = $1) and ($2::uuid is null or device_code_id = $2)
       and kind not in ('user.created', 'session.started') order by id`,
    [about.user?.id ?? null, about.code?.id ?? null],
  )
  return rows.map(({ kind }) => kind)
}

export async function sessionsOf({ database }: TestService, user: MadeUser): Promise<string[]> {
  const rows = await database.query<{ id: string }>('select id from sessions where user_id = $1 order by created_at', [
    user.id,
  ])
  return rows.map(({ id }) => id)
}

export async function mailsOf({ database }: TestService, user: MadeUser): Promise<string[]> {
  const rows = await database.query<{ kind: string }>('select kind from mails where user_id = $1 order by id', [
    user.id,
  ])
  return rows.map(({ kind }) => kind)
}

/** Row counts of some tables, to compare before and after. */
export async function countRows({ database }: TestService, ...tables: string[]): Promise<Record<string, number>> {
  const [row] = await database.query(
    `select ${tables.map((table) => `(select count(*)::int from ${table}) as ${table}`).join(', ')}`,
  )
  return row as Record<string, number>
}

/** Tables that the service writes by itself, whatever is requested (jobs/background.ts). */
const WRITTEN_BY_TASKS = [
  // Counters and logs of requests, saved every few seconds.
  'application_hours',
  'application_minutes',
  'application_requests',
  'application_days',
  'counted_days',
  'early_polls',
  'overloads',
  'refusal_counts',
  // Events are sealed within a second after the change that is compared.
  'audit_seals',
  'live_device_codes',
  'signing_keys',
]

/** Columns that the service writes by itself. */
const COLUMNS_WRITTEN_BY_TASKS: Readonly<Record<string, readonly string[]>> = {
  // Marked once a minute: the first time falls into whatever runs a minute after the start.
  accounts: ['has_operators'],
  application_secrets: ['last_used_on'],
  grants: ['last_used_on'],
  management_keys: ['last_used_at', 'last_network', 'used_networks', 'network_noted_at', 'network_mailed_at'],
  processes: ['seen_at'],
  reviews: ['judged_at'],
  sessions: ['last_used_at'],
}

/**
 * Every row, by table, to compare before and after. Each begins with its table: a difference shows both. Refused sign-ins are
 * saved first: background tasks would write those of an earlier test between the two.
 */
export async function everyRow({ database, context }: TestService): Promise<Record<string, readonly string[]>> {
  await context.refusals.save()
  await recordRefusals(context.db)
  return readEveryRow(database, { tables: WRITTEN_BY_TASKS, columns: COLUMNS_WRITTEN_BY_TASKS })
}

/** Mails that are inserted after the answer: resolves when some arrived and a second passed without more. */
export async function mailsWritten({ database }: TestService): Promise<void> {
  let seen = -1
  for (let still = 0; still < 5; ) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    const [row] = await database.query<{ mails: number }>('select count(*)::int as mails from mails')
    still = row?.mails === seen && seen > 0 ? still + 1 : 0
    seen = row?.mails ?? 0
  }
}
