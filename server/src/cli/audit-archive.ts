/**
 * `latchkey audit archive` and `verify --archive`: moves a month of the audit log into a file, and verifies such a
 * file.
 */
import { type Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../config.ts'
import { archiveAudit } from '../flows/audit/archive.ts'
import { type ArchiveProblem, verifyArchive } from '../flows/audit/archive-file.ts'
import type { AuditHead } from '../flows/audit/seal.ts'
import type { ArchiveRecord } from '../secrets/audit-archive.ts'
import { openSession } from '../store/postgres/postgres.ts'
import { CommandRefused, type OutputOptions, print } from './client/output.ts'
import { TAMPERED } from './output.ts'
import { withDatabase } from './wiring.ts'

type ArchiveOptions = OutputOptions & { readonly before: string; readonly to: string }

export function addArchiveCommand(audit: Command): void {
  audit
    .command('archive')
    .description(
      'Write the oldest month to a file, verify the file, and remove the month from the database. The service keeps running. Requires the role that owns the tables.',
    )
    .requiredOption('--before <month>', 'archive only months before this one (UTC), for example 2026-11', parseMonth)
    .requiredOption('--to <file>', 'file to write; to resume an interrupted run, give the same file')
    .option('--json', 'print one JSON object')
    .action(async (options: ArchiveOptions) => {
      const { databaseUrl, keys } = readConfig(['databaseUrl', 'keys'])
      const session = await openSession(databaseUrl)
      try {
        const { before, to: file } = options
        const done = await withDatabase(databaseUrl, (db) => archiveAudit({ session, db, keys }, { before, file }))
        if (done.outcome === 'refused') throw new CommandRefused(done.reason)
        if (done.outcome === 'tampered') throw new CommandRefused(done.reason, TAMPERED)
        if (done.outcome === 'nothing') {
          print(options, { archived: null, more: [] }, `Nothing to archive before ${before}.`)
          return
        }
        const more = done.more.length > 0 ? [`Further months before ${before}: ${done.more.join(', ')}.`] : []
        const words = `${contents(done.record)}: written to ${file} and removed from the database.`
        print(options, { archived: asJson(done.record), more: done.more }, [words, ...more].join('\n'))
      } finally {
        await session.close()
      }
    })
}

/** Verifies an archive file without a database. */
export async function verifyFile(
  file: string,
  options: OutputOptions & { readonly sinceHead?: AuditHead },
): Promise<void> {
  const { keys } = readConfig(['keys'])
  const found = await verifyArchive(file, keys, options.sinceHead ?? null).catch((error: Error) => {
    throw new CommandRefused(`${file} cannot be read: ${error.message}.`)
  })
  const { problem, record } = found
  const value = { intact: problem === null, problem, archived: record && asJson(record) }
  if (record) print(options, value, `The archive is unchanged: ${contents(record)}.`)
  else if (options.json) print(options, value, '')
  if (problem) {
    throw new CommandRefused(`${file}: ${problemInWords(problem)}`, problem.kind === 'key_missing' ? 1 : TAMPERED)
  }
}

function parseMonth(text: string): string {
  if (!/^[1-9]\d{3}-(0[1-9]|1[0-2])$/.test(text))
    throw new InvalidArgumentError('The format of a month is YYYY-MM, for example 2026-11.')
  return text
}

function contents({ month, events, runs, keyId }: ArchiveRecord): string {
  const positions = `positions ${runs[0]?.from} to ${runs.at(-1)?.to}`
  return `${month}, ${events === 1 ? '1 entry' : `${events} entries`} (${positions}, signed with key ${keyId})`
}

function asJson({ month, events, runs, sha256, keyId }: ArchiveRecord) {
  const stretches = runs.map(({ from, to }) => ({ from, to }))
  return { month, events, positions: stretches, sha256: sha256.toString('hex'), key: keyId }
}

function problemInWords(problem: ArchiveProblem): string {
  switch (problem.kind) {
    case 'incomplete':
      return 'the last line is not the signed record of an archive. The end of the file is missing or was changed, or the file is not an archive.'
    case 'changed':
      return `line ${problem.line} does not match its seal. Entries were changed, removed or inserted there.`
    case 'key_missing':
      return `it was sealed or signed with key ${problem.keyId}, which is not in LATCHKEY_KEYS. Append the key for this command.`
    case 'forged':
      return 'the signed record in the last line was changed.'
    case 'differs':
      return 'the number of entries does not match the signed record.'
    case 'chopped':
      return `it does not contain the given head at position ${problem.position}.`
  }
}
