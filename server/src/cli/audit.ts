/**
 * `latchkey audit verify|head|export|archive`: verifies the seals of the audit log, prints its newest seal, exports it,
 * and archives old months.
 */
import { once } from 'node:events'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { readConfig } from '../config.ts'
import { everyAuditKind } from '../core/audit/kind.ts'
import { type ExportFormat, exportAudit, exportFormats } from '../flows/audit/export.ts'
import { DAY_MS, readDay } from '../flows/audit/read.ts'
import { type AuditHead, readHead } from '../flows/audit/seal.ts'
import { type AuditProblem, type Verification, verifyAudit } from '../flows/audit/verify.ts'
import { findAccount } from '../store/accounts/accounts.ts'
import { addArchiveCommand, verifyFile } from './audit-archive.ts'
import { CommandRefused, type OutputOptions, print, TAMPERED } from './output.ts'
import { withDatabase } from './wiring.ts'

type ExportOptions = {
  account?: string
  since?: number
  until?: number
  kind: string[]
  format: ExportFormat
}

export function addAuditCommands(program: Command): void {
  const audit = program.command('audit').description('The audit log: what happened, sealed.')

  audit
    .command('verify')
    .description(
      'Check every entry against its seal. Needs every key that ever sealed, in LATCHKEY_KEYS. Changes nothing.',
    )
    .option('--since-head <position:hash>', 'a head that was noted earlier: the log must still contain it', parseHead)
    .option('--archive <file>', 'check an archived month in this file instead; asks no database')
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
            `The head is in the archive of ${found.notedIn}: give that file with --archive, and the head with it.`,
          )
        }
        if (found.waiting > 0) {
          throw new CommandRefused(
            `${entries(found.waiting)} waited for more than a minute to be sealed. Is the service running?`,
          )
        }
      })
    })

  audit
    .command('head')
    .description('Print the newest seal. Keep it somewhere else: with it, a log that was cut off is found out.')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const head = await readHead({ db })
        if (!head) throw new CommandRefused('Nothing is sealed yet. The service does it, each second.')
        print(options, headAsJson(head), headInWords(head))
      }),
    )

  audit
    .command('export')
    .description('Print the log, the oldest entry first. That it was printed is an entry as well.')
    .option('--account <slug>', 'only this account’s')
    .option('--since <day>', 'from this day (UTC) or moment on, for example 2026-11-15', parseSince)
    .option('--until <day>', 'up to the end of this day (UTC), or before this moment', parseUntil)
    .addOption(
      new Option('--kind <kind>', 'only this kind; may be given several times')
        .choices(everyAuditKind)
        .argParser(gatherKinds)
        .default([], 'all kinds'),
    )
    .addOption(new Option('--format <format>', 'how it is written').choices(exportFormats).default('ndjson'))
    .action((options: ExportOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { kind, format } = options
        const [account, from, until] = [options.account ?? null, options.since ?? null, options.until ?? null]
        if (account !== null && !(await findAccount(db, account))) {
          throw new CommandRefused(`There is no account "${account}".`)
        }
        const kinds = kind.length === 0 ? null : kind
        const wish = { accountId: null, account, kinds, person: null, application: null, from, until }
        await writeOut(exportAudit(db, wish, format))
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
    throw new InvalidArgumentError('Write a day as 2026-11-15, or a moment as 2026-11-15T08:00:00Z.')
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
    `The log is as it was sealed: ${entries(verified)}${sealedBy === '' ? '' : ` (${sealedBy})`}.`,
    ...(archived > 0 ? [`Archived, and fitting by the records: ${entries(archived)}.`] : []),
    ...(young > 0 ? [`Not sealed yet: ${entries(young)}, a moment old.`] : []),
    ...(backdated
      ? [
          `Dated more than an hour before one in front: ${entries(backdated.count)}, the first at position ${backdated.first}. The clock was set back, or it is not what it says.`,
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
      return `Position ${position}: entry ${problem.eventId} was exchanged with another one, or put elsewhere.`
    case 'inserted':
      if (position === null)
        return `Entry ${problem.eventId} was added behind the chain’s back: it claims to be older than what is sealed, and has no seal.`
      return `Position ${position}: entry ${problem.eventId} was put in here; what was sealed here comes after it.`
    case 'removed':
      if (problem.eventId !== null) return `Position ${position}: entry ${problem.eventId} was removed.`
      return `Positions ${position} to ${problem.upTo} are missing, and no archive has them.`
    case 'rewritten':
      return `Position ${position}: from here on no seal fits. Entries were removed or put in and the rest renumbered, or seals were made without the key.${position === 1 ? ' Are these the keys of this service?' : ''}`
    case 'chopped':
      return `The log no longer contains the head that was noted at position ${position}: its end was cut off, or it was made anew.`
    case 'key_missing':
      return `Position ${position} was sealed with key ${problem.keyId}, which is not in LATCHKEY_KEYS. Add it, at the end, for this command.`
    case 'archive':
      return `Position ${position}: the record of the archive of ${problem.month} was changed, or does not fit what stands before it.`
  }
}
