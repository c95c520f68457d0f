/**
 * The revocation journal: a file outside PostgreSQL that tells after a restore what was ended in the lost time. All
 * processes of a machine append to the same file. docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md
 */
import { createReadStream } from 'node:fs'
import { constants, type FileHandle, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { findGaps, type Gap } from '../../core/restore/chain.ts'
import { isEventLine, type JournalLine, parseLine } from '../../core/restore/journal-line.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { createJournalChain, type ProvenLine, verifyJournalLine } from '../../secrets/restore/journal-proof.ts'
import { ConfigurationError } from '../../setting-texts.ts'

/** A line with a valid proof, with its place in the chain of the process that wrote it. */
export type JournalEntry = Pick<ProvenLine, 'keyId' | 'writer' | 'number'> & { readonly line: JournalLine }

export type JournalReading = {
  /** In the order in which they were written. */
  readonly entries: readonly JournalEntry[]
  /** Lines without a valid proof; null for one that is none of ours. Lines that a crash cut off are not among them. */
  readonly unproven: readonly (JournalLine | null)[]
  readonly gaps: readonly Gap[]
  /** Signing keys that lines of the present signing key say were retired. */
  readonly retiredKeys: readonly number[]
}

export type Journal = {
  readonly path: string
  /**
   * Resolves when these lines and all before them are on the disk. Lines that could not be written are kept and written
   * with the next.
   */
  append(lines: readonly string[]): Promise<void>
  /** A commit was not confirmed, so its lines are unknown: until `complete` has found them, `append` rejects. */
  doubt(): void
  readonly inDoubt: boolean
  /** Appends the lines that `find` finds missing. */
  complete(find: () => Promise<readonly string[]>): Promise<void>
  /** `files`: journals of other machines, which are read as well. */
  read(files?: readonly string[]): Promise<JournalReading>
  /** The newest lines, as many as fit into the end of the file. What is before them is no gap. */
  readEnd(): Promise<JournalReading>
  /** Every line about an event since then, and some before. */
  readSince(ms: number): Promise<readonly JournalLine[]>
}

/** About two hundred lines. */
const END_BYTES = 96 * 1024

/** An event of another process is appended at most this late, so lines written before it are at most this much younger. */
const MAX_LATE_MS = 60 * 60 * 1000

const FILE_MODE = 0o640

export async function openConfiguredJournal(path: string, keys: Keyset): Promise<Journal> {
  return openJournal(path, keys).catch(({ code }: NodeJS.ErrnoException) => {
    throw new ConfigurationError(
      `REVOCATION_JOURNAL, ${path}, cannot be opened for appending (${code}). Its folder must exist, and the service must be able to write to it.`,
    )
  })
}

/** Fails if the file cannot be opened for appending; creates it if it does not exist. */
export async function openJournal(path: string, keys: Keyset): Promise<Journal> {
  await (await openForAppending(path)).close()
  const prove = createJournalChain(keys)
  /** Commits that were not confirmed, and how many of them `complete` has dealt with. */
  let doubts = 0
  let settled = 0
  let waiting: string[] = []
  let writing: Promise<void> = Promise.resolve()

  /** Everything that waits when the write before has ended shares one write. */
  const flush = () => {
    const before = writing
    writing = (async () => {
      await before.catch(() => {})
      const lines = waiting
      if (lines.length === 0) return
      waiting = []
      try {
        // A crash or a full disk may have cut the last line off, of this process or another. Empty lines are ignored.
        await write(path, `\n${lines.join('\n')}\n`)
      } catch (error) {
        waiting = [...lines, ...waiting]
        throw error
      }
    })()
    return writing
  }
  return {
    path,
    append: async (lines) => {
      waiting = [...waiting, ...lines.map(prove)]
      if (doubts > settled) throw new Error('a commit before this one was not confirmed')
      if (waiting.length > 0) await flush()
    },
    doubt: () => {
      doubts += 1
    },
    get inDoubt() {
      return doubts > settled
    },
    complete: async (find) => {
      const before = doubts
      await flush()
      const found = await find()
      waiting = [...waiting, ...found.map((line) => prove(`${line.slice(0, -1)},"late":true}`))]
      await flush()
      settled = Math.max(settled, before)
    },
    read: async (files = []) => {
      const others = await Promise.all(files.map((file) => readFrom(keys, file, 0)))
      return readingOf(keys, [await readEnd(keys, path, Number.POSITIVE_INFINITY), ...others])
    },
    readEnd: async () => ({ ...readingOf(keys, [await readEnd(keys, path, END_BYTES)]), gaps: [] }),
    readSince: async (ms) => {
      const size = await stat(path).then(
        (found) => found.size,
        () => 0,
      )
      for (let bytes = END_BYTES; ; bytes *= 4) {
        const { entries } = readingOf(keys, [await readEnd(keys, path, bytes)])
        const lines = entries.map(({ line }) => line)
        const isEarlier = (line: JournalLine) => isEventLine(line) && Date.parse(line.at) < ms - MAX_LATE_MS
        if (bytes >= size || lines.some(isEarlier)) return lines
      }
    },
  }
}

/** Opened for each write, so that the file can be renamed at any time. */
async function write(path: string, text: string): Promise<void> {
  const file = await openForAppending(path)
  try {
    const { bytesWritten } = await file.write(text)
    if (bytesWritten < Buffer.byteLength(text)) throw new Error('the disk is full')
    await file.datasync()
  } finally {
    await file.close()
  }
}

/**
 * Creates the file if it does not exist. If root creates it, with the command line, it gets the owner of its folder: the
 * service appends to it as a user of its own. A file that exists keeps its owner: it could be a link to any other.
 */
async function openForAppending(path: string): Promise<FileHandle> {
  const created = await open(path, 'ax', FILE_MODE).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
    return null
  })
  if (!created) return open(path, constants.O_WRONLY | constants.O_APPEND)
  if (process.getuid?.() === 0) {
    const { uid, gid } = await stat(dirname(path))
    await created.chown(uid, gid)
  }
  return created
}

/** Journals of other machines, where this one has none. In one reading: a renamed journal and its successor are one chain. */
export async function readJournals(keys: Keyset, paths: readonly string[]): Promise<JournalReading> {
  return readingOf(keys, await Promise.all(paths.map((path) => readFrom(keys, path, 0))))
}

function readEnd(keys: Keyset, path: string, bytes: number): Promise<FileLines> {
  return stat(path).then(
    ({ size }) => readFrom(keys, path, Math.max(0, size - bytes)),
    (error: NodeJS.ErrnoException) => {
      // A journal that was renamed is empty until the next line is written.
      if (error.code !== 'ENOENT') throw error
      return { proven: [], unproven: [] }
    },
  )
}

type FileLines = { readonly proven: ProvenLine[]; readonly unproven: (JournalLine | null)[] }

async function readFrom(keys: Keyset, path: string, start: number): Promise<FileLines> {
  const lines: FileLines = { proven: [], unproven: [] }
  let first = start > 0
  for await (const text of createInterface({ input: createReadStream(path, { start }) })) {
    const proven = verifyJournalLine(keys, text)
    if (proven) lines.proven.push(proven)
    else if (!first && text.startsWith('{') && text.endsWith('}')) lines.unproven.push(parseLine(text))
    first = false
  }
  return lines
}

function readingOf(keys: Keyset, files: readonly FileLines[]): JournalReading {
  const proven = new Map(files.flatMap((file) => file.proven.map((each) => [`${each.writer} ${each.proof}`, each])))
  const entries = [...proven.values()].flatMap(({ text, keyId, writer, number }) => {
    const line = parseLine(text)
    return line ? [{ line, keyId, writer, number }] : []
  })
  const retiredKeys = entries.flatMap(({ line, keyId }) =>
    line.kind === 'key.retired' && line.key !== undefined && keyId === keys.signing.id ? [line.key] : [],
  )
  return {
    entries,
    unproven: files.flatMap(({ unproven }) => unproven),
    gaps: findGaps(files.map((file) => file.proven)),
    retiredKeys,
  }
}
