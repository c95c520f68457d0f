/**
 * Archive file of one month of the audit log: one JSON object per line, an event with its seal, in chain order; the
 * last line is the signed record. The first line after a gap in the chain carries the preceding hash as `previous`.
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

/** Collects the contents of the record while lines are written or read, in order. */
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

  /** Can be called once: it finalizes the digest. */
  content(month: string): ArchiveContent {
    return { month, events: this.#events, runs: this.#runs, sha256: this.#sha256.digest() }
  }
}

/** Writes to a `.part` file, which is renamed once it is complete and synced. */
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

  /**
   * Writes links in chain order. `previous` returns the hash before a gap, or null if unknown. Returns the position of
   * a link without a known predecessor, otherwise null.
   */
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

  /** Returns the path of the `.part` file, to be read back. */
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
  /** The last line is not a record: the file is truncated or not an archive. */
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'changed'; readonly line: number }
  | { readonly kind: 'key_missing'; readonly keyId: number }
  /** The signature of the record does not match its key. */
  | { readonly kind: 'forged' }
  /** Every line is valid, but the record describes other lines. */
  | { readonly kind: 'differs' }
  /** The head noted elsewhere is not in the file. */
  | { readonly kind: 'chopped'; readonly position: number }

export type VerifiedArchive =
  | { readonly problem: ArchiveProblem; readonly record: null }
  | { readonly problem: null; readonly record: ArchiveRecord }

/** Verifies an archive file. Needs the keys that sealed and signed it, but no database. */
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

/** Yields lines including their newline, which the last one may lack. */
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

/** Null if the line is malformed. */
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

/** Verifies the seal of a line against its predecessor. */
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
    // `detail` is no longer valid JSON.
    return changed(lines)
  }
}

function changed(lines: Lines): ArchiveProblem {
  return { kind: 'changed', line: lines.events + 1 }
}
