/**
 * System keyring: Keychain on macOS, Credential Manager on Windows, the Secret Service on Linux. `@napi-rs/keyring` is
 * an optional dependency, loaded only when it is needed: it contains native code, which no other command waits for.
 */
import type { Credentials, Store } from '@latchkey/sdk'
import { CommandRefused } from './output.ts'

const SERVICE = 'latchkey'

/**
 * Secret Service only: otherwise the package falls back to the kernel's keyring, which is empty after a restart.
 * Other platforms ignore the option.
 */
const OPTIONS = { linux: { store: 'secret-service' } } as const

async function openEntry(name: string) {
  const { AsyncEntry } = await import('@napi-rs/keyring')
  return new AsyncEntry(SERVICE, name, OPTIONS)
}

/** Writes and deletes an entry: a keyring may be there, but locked. */
export async function hasKeyring(name: string): Promise<boolean> {
  try {
    const entry = await openEntry(`${name} (test)`)
    await entry.setPassword('test')
    await entry.deleteCredential()
    return true
  } catch {
    return false
  }
}

/** `withLock` of a store in the file system keeps processes apart: keyrings have no locks. */
export function keyringStore(name: string, withLock: Store['withLock']): Store {
  return {
    read: async () => {
      const text = await opened(async () => (await openEntry(name)).getPassword())
      return text === null ? null : parse(text)
    },
    write: (credentials) => opened(async () => (await openEntry(name)).setPassword(JSON.stringify(credentials))),
    clear: () => opened(async () => void (await (await openEntry(name)).deleteCredential())),
    withLock,
  }
}

async function opened<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new CommandRefused(
      `The system keyring holds the credentials of this login and cannot be used: ${(error as Error).message}. Unlock it, then try again.`,
    )
  }
}

function parse(text: string): Credentials {
  try {
    const parsed: Credentials = JSON.parse(text)
    if (typeof parsed.variant === 'string') return parsed
  } catch {
    // Falls through to the refusal.
  }
  throw new CommandRefused(
    `The entry "${SERVICE}" of the system keyring was not written by "latchkey login". Delete it there, then log in again.`,
  )
}
