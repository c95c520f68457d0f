/**
 * Stored login of a profile: a file with the service and the application, and the credentials, in the system keyring or
 * in a file beside it. Both files are readable by their owner only.
 */
import { mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { type Client, type ClientOptions, createClient, type Store } from '@latchkey/sdk'
import { fileStore } from '@latchkey/sdk/node'
import type { ChosenApplication, Place } from './client-settings.ts'
import { hasKeyring, keyringStore } from './keyring.ts'
import { CommandRefused, NOT_LOGGED_IN } from './output.ts'
import { folderOfProfile, forgetCurrent, listProfiles } from './profiles.ts'

export type Login = Pick<ChosenApplication, 'server' | 'application'>

export type KeptLogin = {
  readonly profile: string
  /** Where the credentials are: a path, or `keyring`. */
  readonly keptIn: string
  readonly store: Store
  /** Null if the user is not logged in. */
  read(): Promise<Login | null>
  /**
   * Checks that the folder is writable, before the user is asked to do anything. Throws CommandRefused if it is not.
   */
  prepare(): Promise<void>
  write(login: Login): Promise<void>
  /** Deletes the login and its credentials, and folders that are empty then. */
  forget(): Promise<void>
}

type Stored = Login & { readonly store: Place }

/** `place`: of a new login. An existing one is where it was stored. */
export async function openKeptLogin(profile: string, place?: Place): Promise<KeptLogin> {
  const folder = folderOfProfile(profile)
  const where = join(folder, 'login.json')
  const stored = place ?? (await readLogin(where))?.store ?? 'file'
  const path = join(folder, 'credentials.json')
  const file = fileStore({ path })
  const store = stored === 'keyring' ? keyringStore(folder, file.withLock) : file
  return {
    profile,
    keptIn: stored === 'keyring' ? stored : path,
    store,
    read: async () => {
      const login = await readLogin(where)
      if (!login || !(await store.read())) return null
      return { server: login.server, application: login.application }
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
      const login: Stored = { server, application, store: stored }
      await writeFile(where, `${JSON.stringify(login)}\n`, { mode: 0o600 })
    },
    forget: async () => {
      await store.clear()
      await rm(where, { force: true })
      await forgetCurrent(profile)
      for (const each of [folder, dirname(folder), dirname(dirname(folder))]) await rmdir(each).catch(() => {})
    },
  }
}

/** The place that the user chose, otherwise the keyring if there is one. */
export async function choosePlace(wanted: Place | undefined, profile: string): Promise<Place> {
  if (wanted === 'file') return 'file'
  const usable = await hasKeyring(folderOfProfile(profile))
  if (wanted === 'keyring' && !usable) {
    throw new CommandRefused('There is no system keyring that this command can use. Use --store file.')
  }
  return usable ? 'keyring' : 'file'
}

export function createClientFor(
  { server, application, secret }: ChosenApplication,
  store?: Store,
  options: Pick<ClientOptions, 'holdPolls'> = {},
): Client {
  // The consent page shows it: the user sees which machine asks.
  const userAgent = `latchkey on ${hostname().replace(/[^ -~]/g, '?')}`
  return createClient({ baseUrl: server, appId: application, appSecret: secret, store, userAgent, ...options })
}

export async function requireLogin(kept: KeptLogin): Promise<Login> {
  const login = await kept.read()
  if (login) return login
  const others = (await listProfiles()).filter((name) => name !== kept.profile)
  if (others.length === 0) throw new CommandRefused('You are not logged in. Run "latchkey login".', NOT_LOGGED_IN)
  throw new CommandRefused(
    `You are not logged in with the profile ${kept.profile}. Run "latchkey login --profile ${kept.profile}", or use one of: ${others.join(', ')}.`,
    NOT_LOGGED_IN,
  )
}

async function readLogin(path: string): Promise<Stored | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw new CommandRefused(`${path} cannot be read (${error.code}).`)
  })
  if (text === null) return null
  const { server, application, store } = parse(text)
  const isPlace = store === 'keyring' || store === 'file'
  if (typeof server === 'string' && typeof application === 'string' && isPlace) return { server, application, store }
  throw new CommandRefused(`${path} was not written by "latchkey login". Remove it and log in again.`)
}

function parse(text: string): Record<string, unknown> {
  try {
    return { ...JSON.parse(text) }
  } catch {
    return {}
  }
}
