/**
 * Signed record of an archived month of the audit log: its events, and the hashes that link the rest of the chain to
 * it. Stored in the database and as the last line of the file.
 * docs/decisions/0029-the-audit-log-is-archived-by-month.md
 */
import { hash } from 'node:crypto'
import type { Keyset, SigningKey } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'

/** A gapless part of the chain: the hash before its first seal, and the hash of its last. */
export type ArchiveRun = {
  readonly from: number
  readonly to: number
  readonly previous: Buffer
  readonly hash: Buffer
}

export type ArchiveContent = {
  /** In UTC, as 2026-08. */
  readonly month: string
  readonly events: number
  /** More than one where transactions of two months overlap. */
  readonly runs: readonly ArchiveRun[]
  /** Hash of the file without its last line. */
  readonly sha256: Buffer
}

export type ArchiveRecord = ArchiveContent & { readonly keyId: number; readonly mac: Buffer }

export function signArchive(key: SigningKey, content: ArchiveContent): ArchiveRecord {
  return { ...content, keyId: key.id, mac: macOf(key, content) }
}

/** Whether the MAC is valid; null when its key is unknown. */
export function isSigned(keys: Keyset, record: ArchiveRecord): boolean | null {
  const key = keys.byId.get(record.keyId)
  return key ? equalSecrets(macOf(key, record), record.mac) : null
}

/** Canonical: each record has exactly one text. */
export function writeRecord(record: ArchiveRecord): string {
  return JSON.stringify({ ...plain(record), key_id: record.keyId, mac: record.mac.toString('hex') })
}

/** Null: not a canonical record. */
export function readRecord(text: string): ArchiveRecord | null {
  try {
    const { month, events, runs, sha256, key_id: keyId, mac: signature } = JSON.parse(text)
    if (typeof month !== 'string' || typeof events !== 'number' || typeof keyId !== 'number') return null
    const record = {
      month,
      events,
      runs: readRuns(runs),
      sha256: Buffer.from(sha256, 'hex'),
      keyId,
      mac: Buffer.from(signature, 'hex'),
    }
    return writeRecord(record) === text ? record : null
  } catch {
    return null
  }
}

type PlainRun = { readonly from: number; readonly to: number; readonly previous: string; readonly hash: string }

export function plainRuns(runs: readonly ArchiveRun[]): readonly PlainRun[] {
  return runs.map(({ from, to, previous, hash: last }) => ({
    from,
    to,
    previous: previous.toString('hex'),
    hash: last.toString('hex'),
  }))
}

export function readRuns(runs: readonly PlainRun[]): readonly ArchiveRun[] {
  return runs.map(({ from, to, previous, hash: last }) => ({
    from,
    to,
    previous: Buffer.from(previous, 'hex'),
    hash: Buffer.from(last, 'hex'),
  }))
}

function plain({ month, events, runs, sha256 }: ArchiveContent) {
  return { month, events, runs: plainRuns(runs), sha256: sha256.toString('hex') }
}

function macOf(key: SigningKey, content: ArchiveContent): Buffer {
  return mac(key.for['audit-archive'], hash('sha256', JSON.stringify(plain(content)), 'buffer'))
}
