/**
 * An archived month of the audit log as a file: one JSON object per line, an event with its seal, in the order of the chain; the last
 * line is the signed record. Where the chain goes on after a gap, the line has the hash before it as `previous`.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  type ArchiveContent,
  type ArchiveRecord,
  type ArchiveRun,
  isSigned,
  readRecord,
  writeRecord,
} from '../../secrets/audit-archive.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { equalSecrets } from '../../secrets/mac.ts'
import type { SealedEntry } from '../../store/audit/seals.ts'
import { fits, type Link } from './explain-break.ts'
import type { AuditHead } from './seal.ts'

/** Gathers what the record says of the lines, in the order in which they are written or read. */
class Lines {
  readonly #sha256 = createHash('sha256')
  readonly #runs: ArchiveRun[] = []
  #events = 0

  get last(): ArchiveRun | undefined {
    return this.#runs.at(-1)
  }

  get events(): number {
    return this.#events
  }

  add(line: string | Buffer, { position, hash }: Pick<SealedEntry, 'position' | 'hash'>, previous: Buffer): void {
    const { last } = this
    this.#sha256.update(line)
    this.#events += 1
    if (last && position === last.to + 1) this.#runs[this.#runs.length - 1] = { ...last, to: position, hash }
    else this.#runs.push({ from: position, to: position, previous, hash })
  }

  /** Once: the digest is at its end then. */
  content(month: string): ArchiveContent {
    return { month, events: this.#events, runs: this.#runs, sha256: this.#sha256.digest() }
  }
}

/** Beside the place where it belongs, until it is whole and on the disk. */
export class ArchiveWriter {
  readonly #file: string
  readonly #handle: FileHandle
  readonly #lines = new Lines()

  private constructor(file: string, handle: FileHandle) {
    this.#file = file
    this.#handle = handle
  }

  static async create(file: string): Promise<ArchiveWriter> {
    return new ArchiveWriter(file, await open(partOf(file), 'w', 0o600))
  }

  /** Links in the order of the chain. `previous` says which hash stands before a gap; null: nobody knows. */
  async write(links: readonly Link[], previous: (position: number) => Promise<Buffer | null>): Promise<number | null> {
    let text = ''
    for (const link of links) {
      const { last } = this.#lines
      const follows = last !== undefined && link.position === last.to + 1
      const before = follows ? last.hash : await previous(link.position)
      if (!before) return link.position
      const line = lineOf(link, follows ? null : before)
      this.#lines.add(line, link, before)
      text += line
    }
    await this.#handle.appendFile(text)
    return null
  }

  content(month: string): ArchiveContent {
    return this.#lines.content(month)
  }

  /** Where it can be read back from. */
  async finish(record: ArchiveRecord): Promise<string> {
    await this.#handle.appendFile(`${writeRecord(record)}\n`)
    await this.#handle.sync()
    return partOf(this.#file)
  }

  async putInPlace(): Promise<void> {
    await rename(partOf(this.#file), this.#file)
    const folder = await open(dirname(this.#file))
    await folder.sync()
    await folder.close()
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}

function partOf(file: string): string {
  return `${file}.part`
}

function lineOf({ position, keyId, hash, entry }: Link, previous: Buffer | null): string {
  const before = previous ? { previous: previous.toString('hex') } : {}
  return `${JSON.stringify({ position, ...before, key_id: keyId, hash: hash.toString('hex'), ...entry })}\n`
}

export type ArchiveProblem =
  /** The last line is no record: the end is missing, or it is no archive. */
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'changed'; readonly line: number }
  | { readonly kind: 'key_missing'; readonly keyId: number }
  /** The record was not made with its key. */
  | { readonly kind: 'forged' }
  /** Every line fits, but they are not those that the record speaks of. */
  | { readonly kind: 'differs' }
  /** The head that was noted elsewhere is not in it. */
  | { readonly kind: 'chopped'; readonly position: number }

export type VerifiedArchive =
  | { readonly problem: ArchiveProblem; readonly record: null }
  | { readonly problem: null; readonly record: ArchiveRecord }

/** Is the file as it was archived? Needs the keys that sealed and signed it, and no database. */
export async function verifyArchive(file: string, keys: Keyset, noted: AuditHead | null): Promise<VerifiedArchive> {
  const lines = new Lines()
  const months = new Set<string>()
  let found = false
  let held: Buffer | null = null
  for await (const line of linesOf(file)) {
    if (held) {
      const link = readLine(held)
      const problem = link ? check(keys, lines, link) : changed(lines)
      if (problem || !link) return { problem: problem ?? changed(lines), record: null }
      lines.add(held, link, link.previous ?? Buffer.alloc(0))
      months.add(new Date(Number(link.entry.at) / 1000).toISOString().slice(0, 7))
      found ||= noted?.position === link.position && equalSecrets(noted.hash, link.hash)
    }
    held = line
  }
  const record = held?.at(-1) === NEWLINE ? readRecord(held.toString('utf8', 0, held.length - 1)) : null
  const problem = judge(keys, lines, record, months)
  if (problem || !record) return { problem: problem ?? { kind: 'incomplete' }, record: null }
  if (noted && !found) return { problem: { kind: 'chopped', position: noted.position }, record: null }
  return { problem: null, record }
}

function judge(
  keys: Keyset,
  lines: Lines,
  record: ArchiveRecord | null,
  months: ReadonlySet<string>,
): ArchiveProblem | null {
  if (!record) return { kind: 'incomplete' }
  const signed = isSigned(keys, record)
  if (signed === null) return { kind: 'key_missing', keyId: record.keyId }
  if (!signed) return { kind: 'forged' }
  const { keyId, mac } = record
  const same = writeRecord({ ...lines.content(record.month), keyId, mac }) === writeRecord(record)
  return same && [...months].every((month) => month === record.month) ? null : { kind: 'differs' }
}

const NEWLINE = 0x0a

/** Each with the newline at its end; the last may lack it. */
async function* linesOf(file: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
    rest = Buffer.concat([rest, chunk])
    let from = 0
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE, from)) {
      yield rest.subarray(from, end + 1)
      from = end + 1
    }
    rest = rest.subarray(from)
  }
  if (rest.length > 0) yield rest
}

type ReadLink = Link & { readonly previous: Buffer | null }

/** Null: it is not a line of ours. */
function readLine(line: Buffer): ReadLink | null {
  try {
    const { position, previous, key_id: keyId, hash, ...entry } = JSON.parse(line.toString())
    const { id: eventId, at: eventAt, xid } = entry
    const before = previous === undefined ? null : Buffer.from(previous, 'hex')
    return { position, previous: before, keyId, hash: Buffer.from(hash, 'hex'), eventId, eventAt, xid, entry }
  } catch {
    return null
  }
}

/** Does it fit the seal, behind the line before it? */
function check(keys: Keyset, lines: Lines, link: ReadLink): ArchiveProblem | null {
  const { last } = lines
  const { position, keyId } = link
  if (!Number.isSafeInteger(position) || position <= (last?.to ?? 0)) return changed(lines)
  const previous = last && position === last.to + 1 ? last.hash : link.previous
  if (!previous) return changed(lines)
  if (!keys.byId.has(keyId)) return { kind: 'key_missing', keyId }
  try {
    return fits(keys, link, { previous, position }, link.entry) ? null : changed(lines)
  } catch {
    // A detail that is no JSON any more.
    return changed(lines)
  }
}

function changed(lines: Lines): ArchiveProblem {
  return { kind: 'changed', line: lines.events + 1 }
}
