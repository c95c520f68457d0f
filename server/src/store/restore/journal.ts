/**
 * The revocation journal: a file outside PostgreSQL that tells after a restore what was ended in the lost time. All
 * processes of a machine append to the same file. docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md
 */
import { createReadStream } from 'node:fs'
import { constants, type FileHandle, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { type JournalLine, parseLine } from '../../core/restore/journal-line.ts'
import { ConfigurationError } from '../../setting-texts.ts'

export type Journal = {
  readonly path: string
  /** Resolves when the lines are on the disk. Lines that could not be written are kept and written with the next. */
  append(lines: readonly string[]): Promise<void>
  /** Oldest first. */
  read(): Promise<readonly JournalLine[]>
  /** The newest lines, as many as fit into the end of the file. */
  readEnd(): Promise<readonly JournalLine[]>
}

/** About two hundred lines. */
const END_BYTES = 64 * 1024

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
  /** A crash may have cut the last line off, so this process begins on a new one. The reader ignores empty lines. */
  let begun = false
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
        await write(path, `${begun ? '' : '\n'}${lines.join('\n')}\n`)
        begun = true
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
      if (lines.length === 0) return
      waiting.push(...lines)
      await flush()
    },
    read: () => readJournal(path),
    readEnd: async () => {
      const file = await open(path, 'r')
      try {
        const { size } = await file.stat()
        return await readFrom(path, Math.max(0, size - END_BYTES))
      } finally {
        await file.close()
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

/** Oldest line first. */
export function readJournal(path: string): Promise<readonly JournalLine[]> {
  return readFrom(path, 0)
}

async function readFrom(path: string, start: number): Promise<readonly JournalLine[]> {
  const lines: JournalLine[] = []
  for await (const text of createInterface({ input: createReadStream(path, { start }) })) {
    const line = parseLine(text)
    if (line) lines.push(line)
  }
  return lines
}
