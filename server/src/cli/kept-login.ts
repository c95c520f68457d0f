/**
 * Stored login of the user of this machine, one at a time: a file with the service and the application, and beside it
 * the credentials, which the client library stores. Both files are readable by their owner only.
 */
import { mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type Client, createClient, type Store } from '@latchkey/sdk'
import { fileStore } from '@latchkey/sdk/node'
import { type ChosenApplication, readLoginFolder } from './client-settings.ts'
import { CommandRefused, NOT_LOGGED_IN } from './output.ts'

export type Login = Pick<ChosenApplication, 'server' | 'application'>

export type KeptLogin = {
  /** The file with the credentials. */
  readonly path: string
  readonly store: Store
  /** Null if the user is not logged in. */
  read(): Promise<Login | null>
  /**
   * Checks that the folder is writable, before the user is asked to do anything. Throws CommandRefused if it is not.
   */
  prepare(): Promise<void>
  write(login: Login): Promise<void>
  /** Deletes both files, and the folder if it is empty then. */
  forget(): Promise<void>
}

export function openKeptLogin(): KeptLogin {
  const folder = readLoginFolder()
  const [path, where] = [join(folder, 'credentials.json'), join(folder, 'login.json')]
  const store = fileStore({ path })
  return {
    path,
    store,
    read: async () => {
      const login = await readLogin(where)
      return login && (await store.read()) ? login : null
    },
    prepare: async () => {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        await store.withLock(async () => {})
      } catch (error) {
        const reason = (error as NodeJS.ErrnoException).code ?? 'unknown error'
        throw new CommandRefused(
          `Cannot write to ${folder} (${reason}), so you were not logged in. Make it writable, or set XDG_CONFIG_HOME.`,
        )
      }
    },
    write: async ({ server, application }) => {
      await rm(where, { force: true })
      await writeFile(where, `${JSON.stringify({ server, application })}\n`, { mode: 0o600 })
    },
    forget: async () => {
      await store.clear()
      await rm(where, { force: true })
      await rmdir(folder).catch(() => {})
    },
  }
}

export function createClientFor({ server, application, secret }: ChosenApplication, store?: Store): Client {
  // The consent page shows it: the user sees which machine asks.
  const userAgent = `latchkey on ${hostname().replace(/[^ -~]/g, '?')}`
  return createClient({ baseUrl: server, appId: application, appSecret: secret, store, userAgent })
}

export async function requireLogin(kept: KeptLogin): Promise<Login> {
  const login = await kept.read()
  if (!login) throw new CommandRefused('You are not logged in. Run "latchkey login".', NOT_LOGGED_IN)
  return login
}

async function readLogin(path: string): Promise<Login | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw new CommandRefused(`${path} cannot be read (${error.code}).`)
  })
  if (text === null) return null
  const { server, application } = parse(text)
  if (typeof server === 'string' && typeof application === 'string') return { server, application }
  throw new CommandRefused(`${path} was not written by "latchkey login". Remove it and log in again.`)
}

function parse(text: string): Record<string, unknown> {
  try {
    return { ...JSON.parse(text) }
  } catch {
    return {}
  }
}
