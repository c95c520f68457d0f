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

/**
 * Creates a store in a file, for `createClient`.
 *
 * @example Ask for access at the first start only
 * ```ts
 * import { createClient } from '@latchkey/sdk'
 * import { fileStore } from '@latchkey/sdk/node'
 *
 * const client = createClient({
 *   baseUrl: 'https://service.example',
 *   appId: 'app_n61zbfpywkrj',
 *   appSecret: process.env.LATCHKEY_APP_SECRET,
 *   store: fileStore({ path: `${process.env.HOME}/.config/acme-tv/credentials.json` }),
 * })
 * if (!(await client.credentials())) {
 *   const session = await client.device.start({ variant: 'token_set' })
 *   console.log(`Enter ${session.displayCode} at ${session.verificationUrl}`)
 *   await session.wait()
 * }
 * console.log(await client.hasGranted('orders:read'))
 * ```
 */
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
