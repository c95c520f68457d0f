/**
 * The life of what was granted: kept in the store, renewed in time, by one at once, given back. docs/interface.md,
 * "Refresh".
 *
 * A refresh token that was replaced gets the same set again for 30 s, for answers that were lost; presented later it looks
 * stolen and ends the access. So the new set is written before it is used, a refresh is repeated within that time only, and
 * those who share a store take turns.
 */
import type { Context } from './context.ts'
import { bearerOf, type Credentials, readTokenSet, type TokenSet } from './credentials.ts'
import { LatchkeyError } from './errors.ts'
import { refused } from './refusal.ts'
import { readKept } from './store.ts'
import { type Answer, isTransient } from './wire.ts'

export interface Tokens {
  /** What the store holds, whether or not it still works. */
  read(): Promise<Credentials | null>
  /** Keeps what was just granted, and tells those who listen. */
  accept(credentials: Credentials): Promise<void>
  /** Something to send now: renewed if it is about to end. */
  fresh(): Promise<Credentials>
  /** After a 401 to `refused`: another one, or null if renewing cannot help. */
  afterRefusal(refused: Credentials): Promise<Credentials | null>
  /** Ends the access at the service and forgets it here. */
  revoke(): Promise<void>
}

/** Renewed this long before it ends, or after nine tenths of its life. */
const EAGER_MS = 5 * 60_000
const EAGER_SHARE = 0.1
/** A token that still works is used when renewing it takes longer than this. */
const PATIENCE_MS = 2_000
/** After a renewal that failed while the token still works. */
const PAUSE_MS = 10_000
/** The service gives the same set again for 30 s after the first refresh; the rest is for the way there. */
const REPEAT_WITHIN_MS = 25_000
const ATTEMPT_LIMIT_MS = 8_000
/** A token that was refused so soon after it was issued was not refused for its age. */
const YOUNG_MS = 5_000

export function createTokens(context: Context): Tokens {
  const { clock, store, wire, application, tell } = context
  /** Not all processes of an application renew in the same second. */
  const spread = 0.8 + 0.4 * Math.random()
  let flight: Promise<TokenSet> | null = null
  let pausedUntil = 0
  /** A set that the store would not take: it is the only copy, so it is offered again before anything else. */
  let unsaved: Credentials | null = null
  let ended: { readonly refreshToken: string; readonly error: LatchkeyError } | null = null

  const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof LatchkeyError) throw error
      const { code } = error as { code?: unknown }
      const why = typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,39}$/.test(code) ? ` (${code})` : ''
      throw new LatchkeyError('store', { message: `The store could not be read or written${why}.` })
    }
  }

  const write = async (credentials: Credentials): Promise<void> => {
    unsaved = credentials
    await attempt(() => store.write(credentials))
    unsaved = null
  }

  const read = async (): Promise<Credentials | null> => {
    if (unsaved) await write(unsaved)
    return attempt(async () => readKept(await store.read()))
  }

  const askAgain = async (path: string, form: Record<string, string | undefined>): Promise<Answer> => {
    const until = clock.now() + REPEAT_WITHIN_MS
    for (let faults = 0; ; faults += 1) {
      try {
        return await wire.ask(path, { form, timeLimitMs: ATTEMPT_LIMIT_MS })
      } catch (error) {
        if (!isTransient(error)) throw error
        const backOffMs = 250 * 2 ** faults * (1 + Math.random() / 2)
        const delayMs = Math.max(backOffMs, (error.retryAfter ?? 0) * 1000)
        if (clock.now() + delayMs >= until) throw error
        await clock.sleep(delayMs)
      }
    }
  }

  const refresh = async (kept: TokenSet): Promise<TokenSet> => {
    const form = { ...application, refresh_token: kept.refreshToken }
    const answer = await askAgain('/auth/oauth/refresh', form)
    if (answer.status === 200) {
      const next = readTokenSet(answer, clock.now(), kept.state)
      await write(next)
      tell('tokens', next)
      return next
    }
    const error = refused(answer, form, { invalid_grant: 'reauthorize' })
    if (error.code !== 'reauthorize') throw error
    // Somebody who did not wait for the lock may have renewed it meanwhile.
    const now = await read()
    if (now?.variant === 'oauth' && now.refreshToken !== kept.refreshToken) return now
    ended = { refreshToken: kept.refreshToken, error }
    tell('reauthorize', error)
    throw error
  }

  /** `seen`: what is too old. If the store holds another one by now, that is the newer one. */
  const renew = (seen: TokenSet): Promise<TokenSet> => {
    flight ??= attempt(() =>
      store.withLock(async () => {
        const kept = await read()
        if (kept?.variant !== 'oauth') throw new LatchkeyError('not_authorized')
        return kept.accessToken === seen.accessToken ? refresh(kept) : kept
      }),
    ).finally(() => {
      flight = null
    })
    return flight
  }

  /** The present one still works, so nobody waits long for its successor, and nothing is lost if there is none yet. */
  const renewSoon = async (kept: TokenSet): Promise<TokenSet> => {
    if (clock.now() < pausedUntil) return kept
    const patience = new AbortController()
    const renewal = renew(kept).catch((error: unknown) => {
      if (error instanceof LatchkeyError && ['reauthorize', 'store'].includes(error.code)) throw error
      pausedUntil = clock.now() + PAUSE_MS
      return kept
    })
    try {
      return await Promise.race([renewal, clock.sleep(PATIENCE_MS, patience.signal).then(() => kept)])
    } finally {
      renewal.catch(() => {})
      patience.abort()
    }
  }

  return {
    read,
    accept: async (credentials) => {
      await attempt(() => store.withLock(() => write(credentials)))
      tell('tokens', credentials)
    },
    fresh: async () => {
      const kept = await read()
      if (!kept) throw new LatchkeyError('not_authorized')
      if (kept.variant === 'key') return kept
      if (ended?.refreshToken === kept.refreshToken) throw ended.error
      const left = kept.expiresAt - clock.now()
      const eager = Math.min(EAGER_MS, (kept.expiresAt - kept.issuedAt) * EAGER_SHARE) * spread
      if (left > eager) return kept
      return left > PATIENCE_MS ? renewSoon(kept) : renew(kept)
    },
    afterRefusal: async (used) => {
      if (used.variant === 'key' || clock.now() - used.issuedAt < YOUNG_MS) return null
      return renew(used)
    },
    revoke: () =>
      attempt(() =>
        store.withLock(async () => {
          const kept = await read()
          if (!kept) return
          const key = kept.variant === 'key'
          const form = { ...application, ...(key ? { access_key: bearerOf(kept) } : { token: kept.refreshToken }) }
          const answer = await askAgain(`/auth/${kept.variant}/revoke`, form)
          if (answer.status !== 200) throw refused(answer, form)
          await store.clear()
        }),
      ),
  }
}
