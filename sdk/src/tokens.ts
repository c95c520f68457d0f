/**
 * The life of what was granted: kept in the store, renewed in time, by one at once, given back. docs/interface.md,
 * "Refresh".
 *
 * A refresh token that was replaced gets the same tokens again for 30 s, for answers that were lost; presented later it looks
 * stolen and ends the access. So the new set is written before it is used, a refresh is repeated within that time only, and
 * those who share a store take turns.
 */
import { askAgain } from './ask-again.ts'
import type { Context } from './context.ts'
import { bearerOf, type Credentials, readTokenSet, type TokenSet } from './credentials.ts'
import { LatchkeyError } from './errors.ts'
import { keepIn } from './kept.ts'
import { refused } from './refusal.ts'

export interface Tokens {
  /** What the store holds, whether or not it still works. */
  read(): Promise<Credentials | null>
  /** Keeps what was just granted, and tells those who listen. */
  accept(credentials: Credentials): Promise<void>
  /** Something to send now: renewed if it is about to end. */
  fresh(): Promise<Credentials>
  /** After a 401 to `refused`: another one, or null if renewing cannot help. */
  afterRefusal(refused: Credentials): Promise<Credentials | null>
  /** Under the lock: what is kept becomes what `work` makes of it. */
  replace<T extends Credentials>(work: (kept: Credentials | null) => Promise<T>): Promise<T>
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
/** A token that was refused so soon after it was issued was not refused for its age. */
const YOUNG_MS = 5_000
/** Somebody waits for it to be over, and can ask once more. */
const REVOKE_WITHIN_MS = 5_000
/** Between two machines that share a store. */
const CLOCKS_DIFFER_MS = 60_000

export function createTokens(context: Context): Tokens {
  const { clock, application, tell } = context
  const { read, write, clear, withLock } = keepIn(context.store)
  /** Not all processes of an application renew in the same second. */
  const spread = 0.8 + 0.4 * Math.random()
  let flight: Promise<TokenSet> | null = null
  let pausedUntil = 0
  let ended: { readonly refreshToken: string; readonly error: LatchkeyError } | null = null

  /** Written first, used and told of later. */
  const keep = async <T extends Credentials>(credentials: T): Promise<T> => {
    await write(credentials)
    tell('tokens', credentials)
    return credentials
  }

  const refresh = async (kept: TokenSet): Promise<TokenSet> => {
    const form = { ...application, refresh_token: kept.refreshToken }
    const answer = await askAgain(context, '/auth/oauth/refresh', form)
    if (answer.status === 200) return keep(readTokenSet(answer, clock.now(), kept.state))
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
    flight ??= withLock(async () => {
      const kept = await read()
      if (kept?.variant !== 'oauth') throw new LatchkeyError('not_authorized')
      return kept.accessToken === seen.accessToken ? refresh(kept) : kept
    }).finally(() => {
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
      await withLock(() => keep(credentials))
    },
    fresh: async () => {
      const kept = await read()
      if (!kept) throw new LatchkeyError('not_authorized')
      if (kept.variant === 'key') return kept
      if (ended?.refreshToken === kept.refreshToken) throw ended.error
      const now = clock.now()
      const left = kept.expiresAt - now
      const eager = Math.min(EAGER_MS, (kept.expiresAt - kept.issuedAt) * EAGER_SHARE) * spread
      // Issued in the future: this clock was set back, and says nothing about the end either.
      const doubtful = kept.issuedAt > now + CLOCKS_DIFFER_MS
      if (left > eager && !doubtful) return kept
      return left > PATIENCE_MS ? renewSoon(kept) : renew(kept)
    },
    afterRefusal: async (used) => {
      if (used.variant === 'key' || Math.abs(clock.now() - used.issuedAt) < YOUNG_MS) return null
      return renew(used)
    },
    replace: (work) => withLock(async () => keep(await work(await read()))),
    revoke: () =>
      withLock(async () => {
        const kept = await read()
        if (!kept) return
        const key = kept.variant === 'key'
        const form = { ...application, ...(key ? { access_key: bearerOf(kept) } : { token: kept.refreshToken }) }
        const answer = await askAgain(context, `/auth/${kept.variant}/revoke`, form, REVOKE_WITHIN_MS)
        if (answer.status !== 200) throw refused(answer, form)
        await clear()
      }),
  }
}
