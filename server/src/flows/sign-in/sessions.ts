/** Sessions of the web interface: start, look up, list, end. */
import { randomUUID } from 'node:crypto'
import { byUser } from '../../core/audit/actor.ts'
import { networkOf } from '../../core/network.ts'
import { maySignIn } from '../../core/sign-in/origin.ts'
import { personOf } from '../../core/sign-in/person.ts'
import { digestPerson, isOutdatedSession, signSession, verifySession } from '../../secrets/web-texts.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { lockProof, originOf, type Proof, suggestLanguage } from '../../store/sign-in/methods.ts'
import {
  type AccountSession,
  type AuthenticatedElsewhere,
  deleteOwnSession,
  deleteSession,
  deleteSessions,
  endOldestSessions,
  findAccountSession,
  type HostAccount,
  insertSession,
  listSessions as readSessions,
  recordSessionUse,
  type SessionLine,
  type SessionUser,
  setSessionKey,
} from '../../store/sign-in/sessions.ts'
import { endTestModesOf } from '../applications/test-mode.ts'
import type { Context } from '../context.ts'
import { ruleOf } from './origin.ts'

/** A session's use is noted this often, so that not every request writes a row. */
const NOTE_USE_MS = 5 * 60 * 1000

/** Sessions of one user at the same time: more than anybody has browsers. The one not used for longest ends. */
export const MAX_SESSIONS = 50

/** Operators' sessions end sooner: an unattended one is worth the whole service. */
function idleMsAt({ config }: Context, slug: string): number {
  return slug === config.operatorAccount ? config.operatorSessionIdleMs : config.sessionIdleMs
}

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
 * The account, without a session if the cookie is absent, forged, of another account, ended, or of a user who is
 * disabled or of an origin that the account does not allow. The cases are indistinguishable.
 */
export async function readSession(context: Context, slug: string, cookie: string | null): Promise<ReadSession | null> {
  const { keys } = context.config
  const sessionId = cookie === null ? null : verifySession(keys, cookie, slug)
  const presented = sessionId === null ? null : { id: sessionId, idleMs: idleMsAt(context, slug) }
  const found = await findAccountSession(context.db, slug, presented)
  if (!found?.sessionUser || cookie === null) return found
  if (!maySignIn(ruleOf(context, found.account), found.sessionUser)) return { ...found, sessionUser: null }
  const { id, lastUsedAt } = found.sessionUser.session
  if (found.now - lastUsedAt >= NOTE_USE_MS) await recordSessionUse(context.db, id, NOTE_USE_MS)
  if (!isOutdatedSession(keys, cookie)) return found
  await setSessionKey(context.db, id, keys.signing.id)
  return { ...found, newCookie: signSession(keys, id, slug) }
}

export type ReadSession = AccountSession & {
  /** The cookie was signed with an older key: the browser gets this one instead. */
  readonly newCookie?: string
}

/** How the user authenticated. */
export type Authenticated = {
  /** For the audit log. */
  readonly how: string
  readonly secondFactor: boolean
  /** Checked again when the session starts, in case it was removed meanwhile. */
  readonly proof: Proof
  readonly elsewhere?: AuthenticatedElsewhere
  /** Of the session; absent: as configured. */
  readonly maxLifetimeMs?: number
}

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
  { how, secondFactor, proof, elsewhere, maxLifetimeMs = Number.POSITIVE_INFINITY }: Authenticated,
): Promise<SignedIn | null> {
  const proven = await lockProof(tx, user.id, proof)
  if (!proven || !maySignIn(ruleOf(context, { slug: user.slug, provider: proven.provider }), proven)) return null
  const id = randomUUID()
  const { sessionLifetimeMs, keys, signInSubjects } = context.config
  const lifetimeMs = Math.min(sessionLifetimeMs, maxLifetimeMs)
  const person = proven.origin === originOf(proof) ? personOf(proven, signInSubjects) : null
  const { address, agent, language } = browser
  await suggestLanguage(tx, user.id, language)
  const about = { actor: byUser(user.id), accountId: user.accountId, userId: user.id }
  const ended = await endOldestSessions(tx, user.id, MAX_SESSIONS - 1)
  if (ended > 0) await recordEvent(tx, { kind: 'session.ended', ...about, detail: { sessions: ended } })
  await insertSession(tx, {
    id,
    accountId: user.accountId,
    userId: user.id,
    lifetimeMs,
    keyId: keys.signing.id,
    secondFactor,
    person: person && digestPerson(keys, person),
    address,
    agent,
    elsewhere: elsewhere ?? null,
  })
  await recordEvent(tx, { kind: 'session.started', ...about, detail: { how, ...auditedBrowser(browser) } })
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

/** Ends one session of the user, in whichever browser it is. */
export function signOutSession(
  context: Context,
  accountId: string,
  sessionUser: SessionUser,
  sessionId: string,
): Promise<boolean> {
  return context.db.transaction(async (tx) => {
    if (!(await deleteOwnSession(tx, sessionUser.id, sessionId))) return false
    const actor = byUser(sessionUser.id)
    await recordEvent(tx, { kind: 'session.ended', actor, accountId, userId: sessionUser.id })
    return true
  })
}

/** Ends all sessions, including the current one. */
export async function signOutEverywhere(context: Context, accountId: string, sessionUser: SessionUser): Promise<void> {
  await context.db.transaction(async (tx) => {
    const about = { actor: byUser(sessionUser.id), accountId, userId: sessionUser.id }
    const sessions = await deleteSessions(tx, sessionUser.id)
    await recordEvent(tx, { kind: 'session.ended_everywhere', ...about, detail: { sessions } })
    await endTestModesOf(tx, about.actor, sessionUser.id)
  })
}

export function listSessions(
  context: Context,
  { slug }: HostAccount,
  sessionUser: SessionUser,
): Promise<readonly SessionLine[]> {
  return readSessions(context.db, sessionUser.id, idleMsAt(context, slug))
}

/** True if the user authenticated recently enough for a sensitive action. */
export function isFresh(context: Context, sessionUser: SessionUser, now: number): boolean {
  return now - sessionUser.session.authenticatedAt <= context.config.freshMs
}
