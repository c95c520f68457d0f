/** Which lines of the revocation journal PostgreSQL does not know: their commits were lost. */
import { type EventLine, isEventLine, type JournalLine } from '../../core/restore/journal-line.ts'
import type { Queryable } from '../postgres/postgres.ts'
import { journalLines } from './journalled-events.ts'

/** Lines per statement. */
const BATCH = 5_000

/**
 * The lost lines, oldest first. Lines before the last `database.restored` that PostgreSQL has were settled then. Events
 * of archived months are not lost.
 */
export async function findLost(db: Queryable, lines: readonly JournalLine[]): Promise<readonly JournalLine[]> {
  const lost = new Set<JournalLine>()
  for (let at = 0; at < lines.length; at += BATCH) {
    const batch = lines.slice(at, at + BATCH)
    for (const line of await missingEvents(db, batch.filter(isEventLine))) lost.add(line)
    for (const line of await missingGenerations(
      db,
      batch.filter((each) => !isEventLine(each)),
    ))
      lost.add(line)
  }
  const settled = lines.findLastIndex((line) => line.kind === 'database.restored' && !lost.has(line))
  return lines.slice(settled + 1).filter((line) => lost.has(line) && line.kind !== 'database.restored')
}

async function missingEvents(db: Queryable, lines: readonly EventLine[]): Promise<readonly EventLine[]> {
  if (lines.length === 0) return []
  const { rows } = await db.query<{ place: number }>({
    // Ids are given out again after a restore, but not at the same microsecond.
    text: `select place - 1 as place from unnest($1::bigint[], $2::timestamptz[]) with ordinality as line(id, at, place)
      where not exists (select from audit_events e where e.id = line.id and e.at = line.at)
        and not exists (select from audit_archives a where a.month = to_char(line.at at time zone 'UTC', 'YYYY-MM'))`,
    values: [lines.map(({ event }) => event), lines.map(({ at }) => at)],
  })
  return rows.flatMap(({ place }) => lines[place] ?? [])
}

/** A generation is journalled after its commit: if the stored one is lower, that commit was lost. */
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
        else g.used_generation end`,
    values: [lines.map(({ grant }) => grant), lines.map(({ kind }) => kind), lines.map(({ generation }) => generation)],
  })
  return rows.flatMap(({ place }) => lines[place] ?? [])
}

/** Lines of the last hour that the journal does not have: a process died between its commit and its write. */
export async function readUnjournalled(db: Queryable, written: readonly JournalLine[]): Promise<readonly string[]> {
  const known = new Set(written.filter(isEventLine).map(({ event, at }) => `${event} ${at}`))
  const { rows } = await db.query<{ line: string }>(journalLines("at > now() - interval '1 hour'"))
  return rows
    .map(({ line }) => line)
    .filter((text) => {
      const { event, at } = JSON.parse(text) as EventLine
      return !known.has(`${event} ${at}`)
    })
}
