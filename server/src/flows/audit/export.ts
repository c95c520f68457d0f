/** Export of the audit log as CSV or as NDJSON (one JSON object per line). Every export is recorded as an event. */
import { type Actor, BY_COMMAND_LINE, byUser } from '../../core/audit/actor.ts'
import { csvLine } from '../../core/csv.ts'
import { findAccountId } from '../../store/accounts/accounts.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { EventOrder } from '../../store/audit/listed.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'
import { type AuditLine, type AuditWish, readCursor, readLines } from './read.ts'

export const exportFormats = ['csv', 'ndjson'] as const

export type ExportFormat = (typeof exportFormats)[number]

export function isExportFormat(text: string): text is ExportFormat {
  return (exportFormats as readonly string[]).includes(text)
}

const BATCH = 2_000

/** Rows per download, which is built in memory. */
export const MAX_ROWS = 50_000

type Cells = Readonly<Record<string, unknown>>

/** In column order. */
function cellsOf(line: AuditLine): Cells {
  return {
    id: line.id,
    at: new Date(line.at).toISOString(),
    kind: line.kind,
    who: 'name' in line.who ? line.who.name : line.who.is,
    actor_kind: line.actorKind,
    actor_id: line.actorId,
    via: line.via,
    account: line.account,
    user_id: line.userId,
    person: line.person,
    application_id: line.applicationId,
    application: line.application,
    grant_id: line.grantId,
    device_code_id: line.deviceCodeId,
    request_id: line.requestId,
    detail: line.detail,
    position: line.position,
    hash: line.hash?.toString('hex') ?? null,
  }
}

const COLUMNS = [
  'id',
  'at',
  'kind',
  'who',
  'actor_kind',
  'actor_id',
  'via',
  'account',
  'user_id',
  'person',
  'application_id',
  'application',
  'grant_id',
  'device_code_id',
  'request_id',
  'detail',
  'position',
  'hash',
]

function write(format: ExportFormat, cells: Cells): string {
  if (format === 'ndjson') return `${JSON.stringify(cells)}\n`
  return csvLine(
    COLUMNS.map((name) => {
      const cell = cells[name] ?? null
      return cell === null || typeof cell === 'number' ? cell : typeof cell === 'string' ? cell : JSON.stringify(cell)
    }),
  )
}

function heading(format: ExportFormat): string {
  return format === 'csv' ? csvLine(COLUMNS) : ''
}

type Written = { readonly text: string; readonly rows: number; readonly after: number | null }

async function* writeAll(
  db: Postgres,
  wish: AuditWish,
  { format, order, after: from }: { format: ExportFormat; order: EventOrder; after: number | null },
): AsyncGenerator<Written> {
  yield { text: heading(format), rows: 0, after: from }
  let after = from
  do {
    const page = await readLines(db, wish, { after, max: BATCH, order })
    after = page.after
    yield { text: page.lines.map((line) => write(format, cellsOf(line))).join(''), rows: page.lines.length, after }
  } while (after !== null)
}

export type Download = { readonly bytes: Buffer; readonly rows: number }

/**
 * Newest first, as on the page. If the download is cut at `MAX_ROWS`, its last line gives the address of the next part.
 */
export async function downloadAudit(
  context: { readonly db: Postgres },
  by: string,
  wish: AuditWish,
  wanted: {
    readonly format: ExportFormat
    readonly after: string | null
    addressAfter(event: number): string
  },
): Promise<Download> {
  const { format } = wanted
  const parts: string[] = []
  let rows = 0
  const order = 'newest_first'
  for await (const written of writeAll(context.db, wish, { format, order, after: readCursor(wanted.after) })) {
    parts.push(written.text)
    rows += written.rows
    if (rows < MAX_ROWS || written.after === null) continue
    parts.push(write(format, { kind: 'continues', detail: { at: wanted.addressAfter(written.after) } }))
    break
  }
  await recordExport(context.db, wish, byUser(by), { format, rows })
  return { bytes: Buffer.from(parts.join('')), rows }
}

/**
 * For the command line: everything, oldest first. Recorded even if the reader stops early, because it has received some
 * of it.
 */
export async function* exportAudit(db: Postgres, wish: AuditWish, format: ExportFormat): AsyncGenerator<string> {
  let rows = 0
  try {
    for await (const written of writeAll(db, wish, { format, order: 'oldest_first', after: null })) {
      rows += written.rows
      yield written.text
    }
  } finally {
    await recordExport(db, wish, BY_COMMAND_LINE, { format, rows })
  }
}

/** Recorded in the log of the exported account, so that it also sees exports by operators. */
async function recordExport(
  db: Postgres,
  wish: AuditWish,
  actor: Actor,
  detail: { readonly format: ExportFormat; readonly rows: number },
): Promise<void> {
  const named = wish.account === null ? null : await findAccountId(db, wish.account)
  const accountId = wish.accountId ?? named
  await db.transaction((tx) =>
    recordEvent(tx, { kind: 'audit.exported', actor, ...(accountId ? { accountId } : {}), detail }),
  )
}
