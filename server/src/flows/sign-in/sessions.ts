/** Sessions of the web interface: start, look up, list, end. */
import { randomUUID } from 'node:crypto'
import { byUser } from '../../core/audit/actor.ts'
import { networkOf } from '../../core/network.ts'
import { isOutdatedSession, signSession, verifySession } from '../../secrets/web-texts.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { lockProof, suggestLanguage } from '../../store/sign-in/methods.ts'
import {
  type AccountSession,
  deleteSession,
  deleteSessions,
  findAccountSession,
  insertSession,
  listSessions as readSessions,
  type SessionLine,
  type SessionUser,
  setSessionKey,
} from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'

/** Properties of a browser as the server sees them. */
export type Browser = {
  readonly address: string | null
  readonly agent: string | null
  /** Cookie of a browser that signed in before, not yet verified. */
  readonly known: string | null
  /** Value of the cookie that identifies it on this host; a new one if it sent none. */
  readonly mark: string
  /** Language of the pages it is shown. */
  readonly language: string
}

/**
 * The account, without a session if the cookie is absent, forged, of another account, ended, or of a disabled user. The
 * cases are indistinguishable.
 */
export async function readSession(context: Context, slug: string, cookie: string | null): Promise<ReadSession | null> {
  const { keys } = context.config
  const sessionId = cookie === null ? null : verifySession(keys, cookie, slug)
  const found = await findAccountSession(context.db, slug, sessionId)
  if (!found?.sessionUser || cookie === null || !isOutdatedSession(keys, cookie)) return found
  const { id } = found.sessionUser.session
  await setSessionKey(context.db, id, keys.signing.id)
  return { ...found, newCookie: signSession(keys, id, slug) }
}

export type ReadSession = AccountSession & {
  /** The cookie was signed with an older key: the browser gets this one instead. */
  readonly newCookie?: string
}

/** Factor that authenticated the user. Checked again when the session starts, in case it was removed meanwhile. */
export type Proof = { readonly passwordDigest: string } | { readonly passkeyId: string }

export type SignedIn = { readonly outcome: 'signed_in'; readonly cookie: string; readonly userId: string }

/**
 * Starts a session under a new id, whatever cookie the browser sent (no session fixation). Null if the proof no longer
 * holds.
 */
export async function startSession(
  context: Context,
  tx: Transaction,
  user: { readonly id: string; readonly accountId: string; readonly slug: string },
  browser: Browser,
  how: string,
  proof: Proof,
): Promise<SignedIn | null> {
  if (!(await lockProof(tx, user.id, proof))) return null
  const id = randomUUID()
  const { sessionLifetimeMs: lifetimeMs, keys } = context.config
  const { address, agent, language } = browser
  await suggestLanguage(tx, user.id, language)
  await insertSession(tx, {
    id,
    accountId: user.accountId,
    userId: user.id,
    lifetimeMs,
    keyId: keys.signing.id,
    address,
    agent,
  })
  await recordEvent(tx, {
    kind: 'session.started',
    actor: byUser(user.id),
    accountId: user.accountId,
    userId: user.id,
    detail: { how, ...auditedBrowser(browser) },
  })
  return { outcome: 'signed_in', cookie: signSession(keys, id, user.slug), userId: user.id }
}

/** Network and browser for the audit log: where from, and with what. */
export function auditedBrowser({ address, agent }: Browser): { readonly network?: string; readonly browser?: string } {
  const network = networkOf(address)
  return { ...(network === null ? {} : { network }), ...(agent === null ? {} : { browser: agent }) }
}

export async function signOut(context: Context, accountId: string, sessionUser: SessionUser): Promise<void> {
  await context.db.transaction(async (tx) => {
    if (!(await deleteSession(tx, sessionUser.session.id))) return
    const actor = byUser(sessionUser.id)
    await recordEvent(tx, { kind: 'session.ended', actor, accountId, userId: sessionUser.id })
  })
}

/** Ends all sessions, including the current one. */
export async function signOutEverywhere(context: Context, accountId: string, sessionUser: SessionUser): Promise<void> {
  await context.db.transaction(async (tx) => {
    const sessions = await deleteSessions(tx, sessionUser.id)
    await recordEvent(tx, {
      kind: 'session.ended_everywhere',
      actor: byUser(sessionUser.id),
      accountId,
      userId: sessionUser.id,
      detail: { sessions },
    })
  })
}

export function listSessions(context: Context, sessionUser: SessionUser): Promise<readonly SessionLine[]> {
  return readSessions(context.db, sessionUser.id)
}

/** True if the user authenticated recently enough for a sensitive action. */
export function isFresh(context: Context, sessionUser: SessionUser, now: number): boolean {
  return now - sessionUser.session.authenticatedAt <= context.config.freshMs
}
