/** `latchkey audit verify|detach`: verifies the seals of the audit log, and detaches past months from it. */
import { type Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../config.ts'
import { detachMonth } from '../flows/audit/detach.ts'
import type { AuditHead } from '../flows/audit/seal.ts'
import { type Verification, verifyAudit, verifyMonth } from '../flows/audit/verify.ts'
import type { AuditProblem } from '../flows/audit/walk.ts'
import { openSession, type Session } from '../store/postgres/postgres.ts'
import { CommandRefused, type OutputOptions, print } from './client/output.ts'
import { TAMPERED } from './output.ts'
import { withDatabase } from './wiring.ts'

type VerifyOptions = OutputOptions & { readonly sinceHead?: AuditHead; readonly month?: string }

export function addVerifyCommand(audit: Command): void {
  audit
    .command('verify')
    .description(
      'Verify every entry against its seal. LATCHKEY_KEYS must contain every key that ever sealed. Changes nothing.',
    )
    .option('--since-head <position:hash>', 'a head recorded earlier, which the log must still contain', parseHead)
    .option('--month <month>', 'verify this detached month instead, for example 2026-08, in its own tables', parseMonth)
    .option('--json', 'print one JSON object')
    .action(async (options: VerifyOptions) => {
      const { databaseUrl, keys } = readConfig(['databaseUrl', 'keys'])
      const { month, sinceHead: noted = null } = options
      const found =
        month === undefined
          ? await withDatabase(databaseUrl, (db) => verifyAudit(db, keys, noted))
          : await withSession(databaseUrl, (session) => verifyMonth(session, keys, { month, noted }))
      if (typeof found === 'string') throw new CommandRefused(found)
      if (options.json || !found.problem) print(options, asJson(found), inWords(found, month ?? 'The audit log'))
      if (found.problem) throw refusal(found.problem)
      if (found.notedIn !== null) {
        throw new CommandRefused(
          `The head is in ${found.notedIn}, which was detached: restore its dump and verify it with --month together with --since-head.`,
        )
      }
      if (found.waiting > 0) {
        throw new CommandRefused(
          `${entries(found.waiting)} without a seal for more than a minute. Is the service running?`,
        )
      }
    })
}

export function addDetachCommand(audit: Command): void {
  audit
    .command('detach')
    .argument('<month>', 'a past month (UTC), for example 2026-08', parseMonth)
    .description(
      'Verify the log, sign a record of the month’s last seal, and detach the tables of the month, to be dumped and dropped. The service keeps running. Requires the role that owns the tables.',
    )
    .option('--json', 'print one JSON object')
    .action(async (month: string, options: OutputOptions) => {
      const { databaseUrl, keys } = readConfig(['databaseUrl', 'keys'])
      const done = await withSession(databaseUrl, (session) =>
        withDatabase(databaseUrl, (db) => detachMonth({ session, db, keys }, month)),
      )
      if (done.outcome === 'refused') throw new CommandRefused(done.reason)
      if (done.outcome === 'tampered') throw refusal(done.problem)
      const { record, tables } = done
      const positions = record.runs.map(({ from, to }) => ({ from, to }))
      const count = positions.reduce((sum, { from, to }) => sum + to - from + 1, 0)
      print(
        options,
        { month, entries: count, positions, key: record.keyId, tables },
        `Detached ${month}, ${entries(count)}: ${tables.join(', ')}. The record of its last seal, at position ${positions.at(-1)?.to}, is signed with key ${record.keyId}.`,
      )
    })
}

/** Verifying or detaching a month may take minutes, longer than the time limits of the service. */
async function withSession<T>(databaseUrl: string, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await openSession(databaseUrl)
  try {
    return await work(session)
  } finally {
    await session.close()
  }
}

function parseMonth(text: string): string {
  if (!/^[1-9]\d{3}-(0[1-9]|1[0-2])$/.test(text))
    throw new InvalidArgumentError('The format of a month is YYYY-MM, for example 2026-08.')
  return text
}

function parseHead(text: string): AuditHead {
  const [, position, hash] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text.trim()) ?? []
  if (!position || !hash)
    throw new InvalidArgumentError(
      'A head is a position and 64 hexadecimal digits, as "latchkey audit head" prints it.',
    )
  return { position: Number(position), hash: Buffer.from(hash, 'hex') }
}

function entries(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`
}

export function headInWords({ position, hash }: AuditHead): string {
  return `${position}:${hash.toString('hex')}`
}

export function headAsJson({ position, hash }: AuditHead) {
  return { position, hash: hash.toString('hex') }
}

function asJson({ problem, verified, detached, head, keys, young, waiting, backdated }: Verification) {
  return {
    intact: problem === null,
    problem,
    verified,
    detached,
    head: head && headAsJson(head),
    keys: keys.map(({ keyId, from, to }) => ({ key: keyId, from, to })),
    not_sealed_yet: young,
    waiting,
    backdated,
  }
}

function inWords({ verified, detached, head, keys, young, backdated }: Verification, subject: string): string {
  const sealedBy = keys.map(({ keyId, from, to }) => `key ${keyId}: ${from} to ${to}`).join(', ')
  return [
    `${subject} is unchanged: ${entries(verified)}${sealedBy === '' ? '' : ` (${sealedBy})`}.`,
    ...(detached > 0 ? [`Detached, with matching records: ${entries(detached)}.`] : []),
    ...(young > 0 ? [`Not sealed yet: ${entries(young)}, less than a minute old.`] : []),
    ...(backdated
      ? [
          `Dated more than an hour before an earlier entry: ${entries(backdated.count)}, the first at position ${backdated.first}. The clock was set back, or the entry is forged.`,
        ]
      : []),
    ...(head ? [`Head: ${headInWords(head)}`] : []),
  ].join('\n')
}

function refusal(problem: AuditProblem): CommandRefused {
  return new CommandRefused(problemInWords(problem), problem.kind === 'key_missing' ? 1 : TAMPERED)
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
      return `Positions ${position} to ${problem.upTo} are missing, and no record of a detached month contains them.`
    case 'rewritten':
      return `Position ${position}: no seal matches from here on. Entries were removed or inserted and the rest renumbered, or the seals were forged without the key.${position === 1 ? ' Are these the keys of this service?' : ''}`
    case 'chopped':
      return `The log does not contain the given head at position ${position}: it was truncated or rebuilt.`
    case 'key_missing':
      return `Position ${position} was sealed with key ${problem.keyId}, which is not in LATCHKEY_KEYS. Append the key for this command.`
    case 'record':
      return `Position ${position}: the record of the detached month ${problem.month} was changed, or does not match the seals there.`
  }
}
