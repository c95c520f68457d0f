/**
 * `latchkey audit verify|head|export|archive`: verifies the seals of the audit log, prints its newest seal, exports it,
 * and archives old months.
 */
import { once } from 'node:events'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { readConfig } from '../config.ts'
import { everyAuditKind } from '../core/audit/kind.ts'
import { type ExportFormat, exportAudit, exportFormats } from '../flows/audit/export.ts'
import { DAY_MS, EVERY_EVENT, readDay } from '../flows/audit/read.ts'
import { type AuditHead, readHead } from '../flows/audit/seal.ts'
import { type AuditProblem, type Verification, verifyAudit } from '../flows/audit/verify.ts'
import { findAccountId } from '../store/accounts/accounts.ts'
import { addArchiveCommand, verifyFile } from './audit-archive.ts'
import { CommandRefused, type OutputOptions, print } from './client/output.ts'
import { TAMPERED } from './output.ts'
import { withDatabase } from './wiring.ts'

type ExportOptions = {
  account?: string
  since?: number
  until?: number
  kind: string[]
  format: ExportFormat
}

export function defineAudit(audit: Command): void {
  audit
    .command('verify')
    .description(
      'Verify every entry against its seal. LATCHKEY_KEYS must contain every key that ever sealed. Changes nothing.',
    )
    .option('--since-head <position:hash>', 'a head recorded earlier, which the log must still contain', parseHead)
    .option('--archive <file>', 'verify the archived month in this file instead; needs no database')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & { sinceHead?: AuditHead; archive?: string }) => {
      if (options.archive !== undefined) return verifyFile(options.archive, options)
      const { databaseUrl, keys } = readConfig(['databaseUrl', 'keys'])
      return withDatabase(databaseUrl, async (db) => {
        const found = await verifyAudit(db, keys, options.sinceHead ?? null)
        if (options.json || !found.problem) print(options, asJson(found), inWords(found))
        if (found.problem) {
          throw new CommandRefused(problemInWords(found.problem), found.problem.kind === 'key_missing' ? 1 : TAMPERED)
        }
        if (found.notedIn !== null) {
          throw new CommandRefused(
            `The head is in the archive of ${found.notedIn}: pass that file with --archive together with --since-head.`,
          )
        }
        if (found.waiting > 0) {
          throw new CommandRefused(
            `${entries(found.waiting)} without a seal for more than a minute. Is the service running?`,
          )
        }
      })
    })

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

  addArchiveCommand(audit)
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

function parseHead(text: string): AuditHead {
  const [, position, hash] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text.trim()) ?? []
  if (!position || !hash)
    throw new InvalidArgumentError(
      'A head is a position and 64 hexadecimal digits, as "latchkey audit head" prints it.',
    )
  return { position: Number(position), hash: Buffer.from(hash, 'hex') }
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

function entries(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`
}

function headInWords({ position, hash }: AuditHead): string {
  return `${position}:${hash.toString('hex')}`
}

function headAsJson({ position, hash }: AuditHead) {
  return { position, hash: hash.toString('hex') }
}

function asJson({ problem, verified, archived, head, keys, young, waiting, backdated }: Verification) {
  return {
    intact: problem === null,
    problem,
    verified,
    archived,
    head: head && headAsJson(head),
    keys: keys.map(({ keyId, from, to }) => ({ key: keyId, from, to })),
    not_sealed_yet: young,
    waiting,
    backdated,
  }
}

function inWords({ verified, archived, head, keys, young, backdated }: Verification): string {
  const sealedBy = keys.map(({ keyId, from, to }) => `key ${keyId}: ${from} to ${to}`).join(', ')
  return [
    `The audit log is unchanged: ${entries(verified)}${sealedBy === '' ? '' : ` (${sealedBy})`}.`,
    ...(archived > 0 ? [`Archived, with matching records: ${entries(archived)}.`] : []),
    ...(young > 0 ? [`Not sealed yet: ${entries(young)}, less than a minute old.`] : []),
    ...(backdated
      ? [
          `Dated more than an hour before an earlier entry: ${entries(backdated.count)}, the first at position ${backdated.first}. The clock was set back, or the entry is forged.`,
        ]
      : []),
    ...(head ? [`Head: ${headInWords(head)}`] : []),
  ].join('\n')
}

function problemInWords(problem: AuditProblem): string {
  const { position } = problem
  switch (problem.kind) {
    case 'changed':
      return `Position ${position}: entry ${problem.eventId} was changed since it was sealed.`
    case 'reordered':
      return `Position ${position}: entry ${problem.eventId} was swapped with another entry or moved.`
    case 'inserted':
      if (position === null)
        return `Entry ${problem.eventId} was inserted: it is dated before sealed entries and has no seal.`
      return `Position ${position}: entry ${problem.eventId} was inserted before the entry that was sealed here.`
    case 'removed':
      if (problem.eventId !== null) return `Position ${position}: entry ${problem.eventId} was removed.`
      return `Positions ${position} to ${problem.upTo} are missing, also from the archives.`
    case 'rewritten':
      return `Position ${position}: no seal matches from here on. Entries were removed or inserted and the rest renumbered, or the seals were forged without the key.${position === 1 ? ' Are these the keys of this service?' : ''}`
    case 'chopped':
      return `The log does not contain the given head at position ${position}: it was truncated or rebuilt.`
    case 'key_missing':
      return `Position ${position} was sealed with key ${problem.keyId}, which is not in LATCHKEY_KEYS. Append the key for this command.`
    case 'archive':
      return `Position ${position}: the record of the archive of ${problem.month} was changed, or does not match the entries before it.`
  }
}
