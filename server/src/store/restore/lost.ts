/** Which lines of the revocation journal PostgreSQL does not know: their commits were lost. */
import type { AuditKind } from '../../core/audit/kind.ts'
import { gapsThatMatter, isWithin, type Ranges, rangesOfLost } from '../../core/restore/chain.ts'
import {
  accessKinds,
  type EventLine,
  isEventLine,
  type JournalLine,
  replayedKinds,
  subjectOf,
} from '../../core/restore/journal-line.ts'
import { createSupersededCheck, type Decision, supersedingKinds } from '../../core/restore/superseded.ts'
import { namesToAccept } from '../../core/restore/to-accept.ts'
import { readRetiredKeys } from '../operator/signing-keys.ts'
import type { Queryable } from '../postgres/postgres.ts'
import type { Journal, JournalEntry, JournalReading } from './journal.ts'
import { journalLines, SUBJECT } from './journalled-events.ts'
import { readSettled } from './restores.ts'

/** Lines per statement. */
const BATCH = 5_000

export type Lost = {
  /** What is to be repeated. */
  readonly lines: readonly JournalLine[]
  /** Names of what an operator has to accept. */
  readonly toAccept: readonly string[]
  /** The lost lines, which are not lost any more once they are dealt with. */
  readonly settles: Ranges
  /** Lost lines without a valid proof. */
  readonly unproven: number
}

/** Lines that were settled by an earlier restore, and events of detached months, are not lost. */
export async function findLost(db: Queryable, reading: JournalReading): Promise<Lost> {
  const settled = await readSettled(db)
  const retired = [...(await readRetiredKeys(db)), ...reading.retiredKeys]
  const candidates = reading.entries.filter((entry) => !isWithin(settled, entry))
  const missing = await findMissing(
    db,
    candidates.map(({ line }) => line),
  )
  const entries = candidates.filter(({ line }) => missing.has(line))
  const isTrusted = ({ keyId }: JournalEntry) => !retired.includes(keyId)
  const lost = entries.filter(isTrusted).map(({ line }) => line)
  const isSuperseded = createSupersededCheck(await readLaterDecisions(db, lost.filter(isEventLine)))
  const superseded = new Set(lost.filter(isEventLine).filter(isSuperseded))
  const lines = lost.filter((line) => !isEventLine(line) || !superseded.has(line))
  const unproven = entries.length - lost.length + (await countUnproven(db, reading.unproven))
  const fates = reading.entries.map(({ line, writer, number }) => ({
    ...{ writer, number, lost: missing.has(line) },
    late: isEventLine(line) && line.late === true,
  }))
  const gaps = gapsThatMatter(reading.gaps, fates)
  const changesAccess = ({ kind }: EventLine) => (accessKinds as readonly string[]).includes(kind)
  return {
    lines,
    unproven,
    toAccept: namesToAccept({
      gaps,
      unproven,
      superseded: [...superseded].filter(changesAccess),
      lost: lines.filter(isEventLine),
    }),
    settles: rangesOfLost(fates),
  }
}

async function findMissing(db: Queryable, lines: readonly JournalLine[]): Promise<ReadonlySet<JournalLine>> {
  const missing = new Set<JournalLine>()
  for (let at = 0; at < lines.length; at += BATCH) {
    const batch = lines.slice(at, at + BATCH)
    for (const line of await missingEvents(db, batch.filter(isEventLine))) missing.add(line)
    for (const line of await missingGenerations(
      db,
      batch.filter((each) => !isEventLine(each)),
    ))
      missing.add(line)
  }
  return missing
}

/** Those that PostgreSQL knows as well were proven with a key that `LATCHKEY_KEYS` does not have any more. */
async function countUnproven(db: Queryable, unproven: JournalReading['unproven']): Promise<number> {
  const known = unproven.filter((line) => line !== null)
  const comparable = known.filter((line) => !isEventLine(line) || isTime(line.at))
  return unproven.length - comparable.length + (await findMissing(db, comparable)).size
}

/** Whether PostgreSQL can read it, as it writes it. */
function isTime(at: string): boolean {
  const [, seconds] = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d{1,6})?\+00$/.exec(at) ?? []
  const time = Date.parse(`${seconds}Z`)
  // The thirtieth of February is read as a day in March.
  return !Number.isNaN(time) && new Date(time).toISOString().replace('T', ' ').startsWith(`${seconds}`)
}

/** Decisions about the same subjects, since the oldest of these lines, other than those of a replay. */
async function readLaterDecisions(db: Queryable, lines: readonly EventLine[]): Promise<readonly Decision[]> {
  const subjects = lines.flatMap((line) => subjectOf(line) ?? [])
  if (subjects.length === 0) return []
  const { rows } = await db.query<{ kind: AuditKind; at: string; subject: string }>(
    `select kind, at::text, subject from audit_events, lateral (select ${SUBJECT} as subject) about
     where at > $1::timestamptz and kind = any($2) and subject = any($3) and actor_id <> 'restore'`,
    [lines.map(({ at }) => at).toSorted()[0], supersedingKinds, [...new Set(subjects)]],
  )
  return rows
}

async function missingEvents(db: Queryable, lines: readonly EventLine[]): Promise<readonly EventLine[]> {
  if (lines.length === 0) return []
  const { rows } = await db.query<{ place: number }>({
    // Ids are given out again after a restore, but not at the same microsecond.
    text: `select place - 1 as place from unnest($1::bigint[], $2::timestamptz[]) with ordinality as line(id, at, place)
      where not exists (select from audit_events e where e.id = line.id and e.at = line.at)
        and not exists (select from audit_detachments a where a.month = to_char(line.at at time zone 'UTC', 'YYYY-MM'))`,
    values: [lines.map(({ event }) => event), lines.map(({ at }) => at)],
  })
  return rows.flatMap(({ place }) => lines[place] ?? [])
}

/**
 * A generation is journalled after its commit: if the stored one is lower, that commit was lost. The same for the use of
 * one; if the stored generation is higher, all before it are known to be used.
 */
async function missingGenerations(
  db: Queryable,
  lines: readonly Exclude<JournalLine, EventLine>[],
): Promise<readonly JournalLine[]> {
  if (lines.length === 0) return []
  const { rows } = await db.query<{ place: number }>({
    text: `select place - 1 as place
      from unnest($1::text[], $2::text[], $3::integer[]) with ordinality as line(id, kind, generation, place)
        join grants g using (id)
      where line.generation > case kind when 'refresh_token' then g.generation when 'access_key' then g.key_generation
        else greatest(g.used_generation, g.generation - 1) end`,
    values: [lines.map(({ grant }) => grant), lines.map(({ kind }) => kind), lines.map(({ generation }) => generation)],
  })
  return rows.flatMap(({ place }) => lines[place] ?? [])
}

/**
 * Lines of the last hour that the journal does not have: a process died between its commit and its write, or its commit
 * was not confirmed. In pages, outside a transaction: a busy service has more events than one statement may read.
 */
export async function readUnjournalled(db: Queryable, journal: Pick<Journal, 'readSince'>): Promise<readonly string[]> {
  const recent = await readRecent(db)
  const [oldest] = recent
  if (!oldest) return []
  const known = new Set(
    (await journal.readSince(Date.parse(oldest.at))).filter(isEventLine).map(({ event, at }) => `${event} ${at}`),
  )
  const missing = recent.filter(({ event, at }) => !known.has(`${event} ${at}`))
  const lines: string[] = []
  for (let at = 0; at < missing.length; at += BATCH) lines.push(...(await readLines(db, missing.slice(at, at + BATCH))))
  return lines
}

type EventKey = Pick<EventLine, 'event' | 'at'>

/** Oldest first. */
async function readRecent(db: Queryable): Promise<readonly EventKey[]> {
  const recent: EventKey[] = []
  for (;;) {
    const last = recent.at(-1)
    const { rows } = await db.query<EventKey>(
      `select id as event, at::text from audit_events
       where at > now() - interval '1 hour' and (at, id) > ($1::timestamptz, $2::bigint) and kind = any($3)
       order by at, id limit ${BATCH}`,
      [last?.at ?? '-infinity', last?.event ?? 0, replayedKinds],
    )
    recent.push(...rows)
    if (rows.length < BATCH) return recent
  }
}

async function readLines(db: Queryable, events: readonly EventKey[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ line: string }>(
    journalLines('(id, at) in (select * from unnest($1::bigint[], $2::timestamptz[]))'),
    [events.map(({ event }) => event), events.map(({ at }) => at)],
  )
  return rows.map(({ line }) => line)
}
