/**
 * The revocation journal: a file outside PostgreSQL that tells after a restore what was ended in the lost time. All
 * processes of a machine append to the same file. docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md
 */
import { createReadStream } from 'node:fs'
import { constants, type FileHandle, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { isEventLine, type JournalLine, parseLine } from '../../core/restore/journal-line.ts'
import { ConfigurationError } from '../../setting-texts.ts'

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
  /** In the order in which they were written. */
  read(): Promise<readonly JournalLine[]>
  /** The newest lines, as many as fit into the end of the file. */
  readEnd(): Promise<readonly JournalLine[]>
  /** Every line about an event since then, and some before. */
  readSince(ms: number): Promise<readonly JournalLine[]>
}

/** About two hundred lines. */
const END_BYTES = 64 * 1024

/** An event of another process is appended at most this late, so lines written before it are at most this much younger. */
const MAX_LATE_MS = 60 * 60 * 1000

const FILE_MODE = 0o640

/** `path` null: no journal is configured. */
export async function openConfiguredJournal(path: string | null): Promise<Journal | null> {
  if (path === null) return null
  return openJournal(path).catch(({ code }: NodeJS.ErrnoException) => {
    throw new ConfigurationError(
      `REVOCATION_JOURNAL, ${path}, cannot be opened for appending (${code}). Its folder must exist, and the service must be able to write to it.`,
    )
  })
}

/** Fails if the file cannot be opened for appending; creates it if it does not exist. */
export async function openJournal(path: string): Promise<Journal> {
  await (await openForAppending(path)).close()
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
      waiting = [...waiting, ...lines]
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
      waiting = [...waiting, ...(await find())]
      await flush()
      settled = Math.max(settled, before)
    },
    read: () => readFrom(path, 0).catch(noLines),
    readEnd: () => readEnd(path, END_BYTES).catch(noLines),
    readSince: async (ms) => {
      const size = await stat(path).then(
        (found) => found.size,
        () => 0,
      )
      for (let bytes = END_BYTES; ; bytes *= 4) {
        const lines = await readEnd(path, bytes).catch(noLines)
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

/** A journal that was renamed is empty until the next line is written. */
function noLines(error: NodeJS.ErrnoException): readonly JournalLine[] {
  if (error.code !== 'ENOENT') throw error
  return []
}

/** In the order in which they were written. */
export function readJournal(path: string): Promise<readonly JournalLine[]> {
  return readFrom(path, 0)
}

async function readEnd(path: string, bytes: number): Promise<readonly JournalLine[]> {
  const { size } = await stat(path)
  return readFrom(path, Math.max(0, size - bytes))
}

async function readFrom(path: string, start: number): Promise<readonly JournalLine[]> {
  const lines: JournalLine[] = []
  for await (const text of createInterface({ input: createReadStream(path, { start }) })) {
    const line = parseLine(text)
    if (line) lines.push(line)
  }
  return lines
}
