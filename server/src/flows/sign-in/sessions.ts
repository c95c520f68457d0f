/** Sessions of the web interface, from the first sign-in to signing out everywhere. */
import { randomUUID } from 'node:crypto'
import { byUser } from '../../core/audit/actor.ts'
import { signSession, verifySession } from '../../secrets/web-texts.ts'
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
} from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'

/** What the server saw of a browser. */
export type Browser = {
  readonly address: string | null
  readonly agent: string | null
  /** The cookie of a browser that signed in before, as it came. */
  readonly known: string | null
  /** The one it is shown pages in. */
  readonly language: string
}

/** Without a session where the cookie is absent, forged, of another account, ended, or of a disabled user: no difference. */
export async function readSession(
  context: Context,
  slug: string,
  cookie: string | null,
): Promise<AccountSession | null> {
  const sessionId = cookie === null ? null : verifySession(context.config.keys, cookie, slug)
  return findAccountSession(context.db, slug, sessionId)
}

/** What let the user in. It is looked at once more when the session begins: what was taken away meanwhile lets nobody in. */
export type Proof = { readonly passwordDigest: string } | { readonly passkeyId: string }

export type SignedIn = { readonly outcome: 'signed_in'; readonly cookie: string; readonly userId: string }

/** Always a new session under a new id, whatever the browser brought along. Null when the proof no longer holds. */
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
  await insertSession(tx, { id, accountId: user.accountId, userId: user.id, lifetimeMs, address, agent })
  await recordEvent(tx, {
    kind: 'session.started',
    actor: byUser(user.id),
    accountId: user.accountId,
    userId: user.id,
    detail: { how },
  })
  return { outcome: 'signed_in', cookie: signSession(keys, id, user.slug), userId: user.id }
}

export async function signOut(context: Context, sessionUser: SessionUser): Promise<void> {
  await deleteSession(context.db, sessionUser.session.id)
}

/** This browser, too. */
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

/** Did the user prove who they are recently enough for something that matters more? */
export function isFresh(context: Context, sessionUser: SessionUser, now: number): boolean {
  return now - sessionUser.session.authenticatedAt <= context.config.freshMs
}
