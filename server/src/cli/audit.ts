/** `latchkey audit head|export`: prints the newest seal of the audit log, and exports the log. */
import { once } from 'node:events'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { readConfig } from '../config.ts'
import { everyAuditKind } from '../core/audit/kind.ts'
import { type ExportFormat, exportAudit, exportFormats } from '../flows/audit/export.ts'
import { DAY_MS, EVERY_EVENT, readDay } from '../flows/audit/read.ts'
import { readHead } from '../flows/audit/seal.ts'
import { findAccountId } from '../store/accounts/accounts.ts'
import { addDetachCommand, addVerifyCommand, headAsJson, headInWords } from './audit-verify.ts'
import { CommandRefused, type OutputOptions, print } from './client/output.ts'
import { withDatabase } from './wiring.ts'

type ExportOptions = {
  account?: string
  since?: number
  until?: number
  kind: string[]
  format: ExportFormat
}

export function defineAudit(audit: Command): void {
  addVerifyCommand(audit)
  addDetachCommand(audit)

  audit
    .command('head')
    .description('Print the newest seal. Store it outside the database to detect a truncated log later.')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const head = await readHead({ db })
        if (!head) throw new CommandRefused('Nothing is sealed yet. The running service seals every second.')
        print(options, headAsJson(head), headInWords(head))
      }),
    )

  audit
    .command('export')
    .description('Print the log, oldest entry first. The export itself is recorded in the log.')
    .option('--account <slug>', 'only entries of this account')
    .option('--since <day>', 'from this day (UTC) or time on, for example 2026-11-15', parseSince)
    .option('--until <day>', 'up to the end of this day (UTC), or before this time', parseUntil)
    .addOption(
      new Option('--kind <kind>', 'only this kind; may be repeated')
        .choices(everyAuditKind)
        .argParser(gatherKinds)
        .default([], 'all kinds'),
    )
    .addOption(new Option('--format <format>', 'output format').choices(exportFormats).default('ndjson'))
    .action((options: ExportOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { kind, format } = options
        const [account, from, until] = [options.account ?? null, options.since ?? null, options.until ?? null]
        if (account !== null && !(await findAccountId(db, account))) {
          throw new CommandRefused(`There is no account "${account}".`)
        }
        const kinds = kind.length === 0 ? null : kind
        await writeOut(exportAudit(db, { ...EVERY_EVENT, account, kinds, from, until }, format))
      }),
    )
}

/** Writes with back-pressure, and stops when the reader closes the pipe, as `head` does. */
async function writeOut(parts: AsyncIterable<string>): Promise<void> {
  let closed = false
  process.stdout.on('error', () => {
    closed = true
  })
  for await (const part of parts) {
    if (closed) return
    if (!process.stdout.write(part)) await once(process.stdout, 'drain').catch(() => {})
  }
}

function parseSince(text: string): number {
  const moment = /^(?!0000|9999)\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
  const ms = readDay(text) ?? moment
  if (Number.isNaN(ms))
    throw new InvalidArgumentError('The format is 2026-11-15 for a day, 2026-11-15T08:00:00Z for a time.')
  return ms
}

/** A day is inclusive: the limit is the start of the next day. */
function parseUntil(text: string): number {
  return parseSince(text) + (readDay(text) === null ? 0 : DAY_MS)
}

function gatherKinds(kind: string, before: string[]): string[] {
  if (!(everyAuditKind as readonly string[]).includes(kind))
    throw new InvalidArgumentError(`Allowed choices are ${everyAuditKind.join(', ')}.`)
  return [...before, kind]
}
