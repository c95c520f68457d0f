/**
 * Store that keeps credentials in a file readable by its owner only, for programs on a user's machine. Writes replace
 * the file atomically, so a crash leaves the old version or the new one. Processes that share the file take turns, with
 * a lock file beside it.
 */
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LatchkeyError } from '../errors.ts'
import { createQueue, readKept, type Store } from '../store.ts'
import { readOrNull, withFileLock } from './file-lock.ts'

export interface FileStoreOptions {
  /** Path of the file, which holds the credentials of one user. Its folder is created if it is missing. */
  readonly path: string
}

export function fileStore({ path }: FileStoreOptions): Store {
  const queue = createQueue()
  return {
    read: async () => {
      const text = await readOrNull(path)
      return readKept(text === null ? null : parse(text, path))
    },
    write: async (credentials) => {
      await makeFolder(path)
      const draft = `${path}.${randomUUID()}`
      try {
        const file = await open(draft, 'wx', 0o600)
        try {
          await file.writeFile(`${JSON.stringify(credentials)}\n`)
          await file.sync()
        } finally {
          await file.close()
        }
        // Exactly 0600: the umask of the process may have removed rights of the owner, and no others may be added.
        await chmod(draft, 0o600)
        await rename(draft, path)
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
    },
    clear: () => rm(path, { force: true }),
    withLock: (work) =>
      queue(async () => {
        await makeFolder(path)
        return withFileLock(`${path}.lock`, work)
      }),
  }
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
}

function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const message = `${path} is not a file that this library wrote. Move it away, and let the user authorize again.`
    throw new LatchkeyError('store', { message })
  }
}
