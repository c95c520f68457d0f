/**
 * Store that keeps credentials in sessionStorage: they survive reloads and redirects, until the tab is closed. Every
 * script on the page's origin can read them, so do not load third-party scripts on such a page.
 *
 * A duplicated tab starts with a copy. If one tab renewed it, the other tab's refresh token would look stolen, so tabs
 * broadcast which token set replaced which.
 */
import type { Credentials } from '../credentials.ts'
import { LatchkeyError } from '../errors.ts'
import { createQueue, readKept, type Store } from '../store.ts'

export interface SessionStorageOptions {
  /** Key in sessionStorage; distinguishes several clients on one page. Default `latchkey`. */
  readonly key?: string
}

interface Renewal {
  readonly instead: string
  readonly credentials: Credentials
}

export function sessionStorageStore({ key = 'latchkey' }: SessionStorageOptions = {}): Store {
  const storage = requireStorage()
  const queue = createQueue()
  const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(`latchkey:${key}`) : null
  const read = (): Credentials | null => {
    const text = storage.getItem(key)
    return readKept(text === null ? null : parse(text))
  }
  /** Null also if the entry is damaged: it can be replaced. */
  const storedRefreshToken = (): string | null => {
    try {
      const kept = read()
      return kept?.variant === 'token_set' ? kept.refreshToken : null
    } catch {
      return null
    }
  }

  channel?.addEventListener('message', ({ data }: MessageEvent<Renewal>) => {
    if (data.instead === storedRefreshToken()) storage.setItem(key, JSON.stringify(readKept(data.credentials)))
  })
  return {
    read: async () => read(),
    write: async (credentials) => {
      const instead = storedRefreshToken()
      storage.setItem(key, JSON.stringify(credentials))
      if (instead !== null) channel?.postMessage({ instead, credentials } satisfies Renewal)
    },
    clear: async () => storage.removeItem(key),
    withLock: (work) => {
      const locks = globalThis.navigator?.locks
      return locks ? (locks.request(`latchkey:${key}`, work) as ReturnType<typeof work>) : queue(work)
    },
  }
}

/** A browser that blocks storage throws on mere access to the property. */
function requireStorage(): Storage {
  let found: Storage | undefined
  try {
    found = globalThis.sessionStorage
  } catch {
    throw new LatchkeyError('store', { message: 'The browser does not let this page use sessionStorage.' })
  }
  if (!found) throw new LatchkeyError('store', { message: 'There is no sessionStorage here. Use another store.' })
  return found
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
