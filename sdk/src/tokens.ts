/**
 * Management of stored credentials: keeps them in the store, renews them in time with one renewal at a time, and
 * revokes them. docs/interface/credentials.md, "Refresh".
 *
 * The service repeats the response to a replaced refresh token until one of the new tokens is used, because it may
 * have been lost. After that, the replaced token counts as stolen, and the service revokes the grant. So the new set
 * is stored before it is used, processes that share a store renew under its lock, and the store is read again before
 * every request: a process that was frozen may have lost the lock to another one.
 */
import { askAgain } from './ask-again.ts'
import type { Context } from './context.ts'
import { bearerOf, type Credentials, readTokenSet, type TokenSet } from './credentials.ts'
import { pathOf } from './device-dialect.ts'
import { LatchkeyError } from './errors.ts'
import { keepIn } from './kept.ts'
import { refused } from './refusal.ts'

export interface Tokens {
  /** The stored credentials, whether or not they are still valid. */
  read(): Promise<Credentials | null>
  /** Stores newly granted credentials and notifies listeners. */
  accept(credentials: Credentials): Promise<void>
  /** Credentials that can be sent now, renewed if they are about to expire. */
  fresh(): Promise<Credentials>
  /** Renews the stored token set now. */
  refresh(): Promise<TokenSet>
  /** After a 401 to `refused`: renewed credentials, or null if renewing cannot help. */
  afterRefusal(refused: Credentials): Promise<Credentials | null>
  /** Replaces the stored credentials by the result of `work`, under the lock. */
  replace<T extends Credentials>(work: (kept: Credentials | null) => Promise<T>): Promise<T>
  /** Revokes the access at the service, then clears the store. */
  revoke(): Promise<void>
}

/** Renewal starts this long before expiry, or in the last tenth of the lifetime if that is shorter. */
const RENEW_BEFORE_MS = 5 * 60_000
const RENEW_BEFORE_SHARE = 0.1
/** If a renewal takes longer than this, the current token is used while it is still valid. */
const MAX_RENEWAL_WAIT_MS = 2_000
/** Pause after a failed renewal while the current token is still valid. */
const PAUSE_MS = 10_000
/** A token rejected this soon after it was issued was not rejected for its age: renewing it does not help. */
const JUST_ISSUED_MS = 5_000
/** Shorter than for a refresh: the caller waits for the revocation, and can call it again. */
const REVOKE_WITHIN_MS = 5_000
/** Tolerated clock difference between two machines that share a store. */
const MAX_CLOCK_SKEW_MS = 60_000

export function createTokens(context: Context): Tokens {
  const { clock, application, emit } = context
  const { read, write, clear, withLock } = keepIn(context.store)
  /** Jitter, so that the processes of an application do not all renew in the same second. */
  const spread = 0.8 + 0.4 * Math.random()
  let currentRenewal: Promise<TokenSet> | null = null
  let pausedUntil = 0
  let ended: { readonly refreshToken: string; readonly error: LatchkeyError } | null = null

  /** Stores credentials before they are used and before listeners are notified. */
  const keep = async <T extends Credentials>(credentials: T): Promise<T> => {
    await write(credentials)
    emit('tokens', credentials)
    return credentials
  }

  const refresh = async (kept: TokenSet): Promise<TokenSet> => {
    const form = { ...application, refresh_token: kept.refreshToken }
    const replaced = async () => {
      const now = await read()
      return now?.variant === 'token_set' && now.refreshToken === kept.refreshToken ? null : now
    }
    const answer = await askAgain(context, '/auth/oauth/refresh', form, { unless: replaced })
    if ('variant' in answer) return asTokenSet(answer)
    if (answer.status === 200) {
      const set = readTokenSet(answer, clock.now(), kept.state)
      // A process that was frozen here may wake up after others have renewed the set twice: the store has a newer one.
      const newer = await replaced()
      return newer ? asTokenSet(newer) : keep(set)
    }
    const error = refused(answer, form, { invalid_grant: 'reauthorize' })
    if (error.code !== 'reauthorize') throw error
    // Another process that did not take the lock may have renewed the token meanwhile.
    const now = await replaced()
    if (now) return asTokenSet(now)
    ended = { refreshToken: kept.refreshToken, error }
    emit('reauthorize', error)
    throw error
  }

  /** `seen` is the outdated token set. If the store holds another one by now, that one is newer and is used. */
  const renew = (seen: TokenSet): Promise<TokenSet> => {
    currentRenewal ??= withLock(async () => {
      const kept = asTokenSet(await read())
      return kept.accessToken === seen.accessToken ? refresh(kept) : kept
    }).finally(() => {
      currentRenewal = null
    })
    return currentRenewal
  }

  /**
   * Renews while the current token is still valid: waits MAX_RENEWAL_WAIT_MS at most, and falls back to the current
   * token if the renewal fails, except with `reauthorize` or `store`.
   */
  const renewSoon = async (kept: TokenSet): Promise<TokenSet> => {
    if (clock.now() < pausedUntil) return kept
    const timeout = new AbortController()
    const renewal = renew(kept).catch((error: unknown) => {
      if (error instanceof LatchkeyError && ['reauthorize', 'store'].includes(error.code)) throw error
      pausedUntil = clock.now() + PAUSE_MS
      return kept
    })
    try {
      return await Promise.race([renewal, clock.sleep(MAX_RENEWAL_WAIT_MS, timeout.signal).then(() => kept)])
    } finally {
      renewal.catch(() => {})
      timeout.abort()
    }
  }

  return {
    read,
    refresh: async () => {
      const kept = asTokenSet(await read())
      if (ended?.refreshToken === kept.refreshToken) throw ended.error
      return renew(kept)
    },
    accept: async (credentials) => {
      await withLock(() => keep(credentials))
    },
    fresh: async () => {
      const kept = await read()
      if (!kept) throw new LatchkeyError('not_authorized')
      if (kept.variant === 'access_key') return kept
      if (ended?.refreshToken === kept.refreshToken) throw ended.error
      const now = clock.now()
      const left = kept.expiresAt - now
      const renewBefore = Math.min(RENEW_BEFORE_MS, (kept.expiresAt - kept.issuedAt) * RENEW_BEFORE_SHARE) * spread
      // Issued in the future: this machine's clock was set back, so it cannot tell the expiry either.
      const doubtful = kept.issuedAt > now + MAX_CLOCK_SKEW_MS
      if (left > renewBefore && !doubtful) return kept
      return left > MAX_RENEWAL_WAIT_MS ? renewSoon(kept) : renew(kept)
    },
    afterRefusal: async (used) => {
      if (used.variant === 'access_key' || Math.abs(clock.now() - used.issuedAt) < JUST_ISSUED_MS) return null
      return renew(used)
    },
    replace: (work) => withLock(async () => keep(await work(await read()))),
    revoke: () =>
      withLock(async () => {
        const kept = await read()
        if (!kept) return
        const key = kept.variant === 'access_key'
        const form = { ...application, ...(key ? { access_key: bearerOf(kept) } : { token: kept.refreshToken }) }
        const answer = await askAgain(context, `/auth/${pathOf(kept.variant)}/revoke`, form, {
          withinMs: REVOKE_WITHIN_MS,
        })
        if (answer.status !== 200) throw refused(answer, form)
        await clear()
      }),
  }
}

function asTokenSet(kept: Credentials | null): TokenSet {
  if (kept?.variant === 'token_set') return kept
  throw new LatchkeyError('not_authorized', kept ? { message: 'There is no token set.' } : {})
}
