/**
 * Test mode: an administrator turns it on and off. It ends after a day, or when that user signs out everywhere, changes
 * the password, is reset or disabled, or is no longer an administrator.
 */
import { runningTestMode, TEST_MODE_MS } from '../../core/applications/test-mode.ts'
import { type Actor, byService, byUser } from '../../core/audit/actor.ts'
import { createTestSecret, digestTestSecret } from '../../secrets/test-secret.ts'
import { findApplication, markApplicationChanged } from '../../store/applications/applications.ts'
import { readOwnApplication } from '../../store/applications/own.ts'
import {
  deleteTestMode,
  insertTestMode,
  listOverdueTestModes,
  listTestModesOfKey,
  lockTestMode,
  lockTestModesOf,
} from '../../store/applications/test-modes.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { revokeGrants } from '../../store/grants/grants.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'
import { asAdministrator, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'

export type TestModeStart =
  /** The secret is returned here only. */
  | { readonly outcome: 'started'; readonly secret: string; readonly endsAt: number }
  | { readonly outcome: 'not_found' | 'already_on' }
  | Forbidden

/** A test mode that is on keeps its secret and its end: to extend it, it has to be switched off, which revokes its grants. */
export function startTestMode(context: Context, by: string, id: string): Promise<TestModeStart> {
  return asAdministrator(context, by, async (tx, account): Promise<TestModeStart> => {
    if (!(await readOwnApplication(tx, account.id, id))) return { outcome: 'not_found' }
    const known = await lockTestMode(tx, id)
    if (known && runningTestMode(known, known.now)) return { outcome: 'already_on' }
    if (known) await end(tx, EXPIRED, id)
    else await markApplicationChanged(tx, id)
    const secret = createTestSecret()
    const digest = digestTestSecret(context.config.keys, secret)
    const given = { applicationId: id, userId: by, secret: digest, lifetimeMs: TEST_MODE_MS }
    const endsAt = await insertTestMode(tx, given)
    const about = { actor: byUser(by), accountId: account.id, applicationId: id }
    await recordEvent(tx, { kind: 'application.test_mode_started', ...about })
    return { outcome: 'started', secret, endsAt }
  })
}

export type TestModeEnd = { readonly outcome: 'ended' | 'not_found' } | Forbidden

export function endTestMode(context: Context, by: string, id: string): Promise<TestModeEnd> {
  return asAdministrator(context, by, async (tx, account): Promise<TestModeEnd> => {
    if (!(await readOwnApplication(tx, account.id, id))) return { outcome: 'not_found' }
    if (await lockTestMode(tx, id)) await end(tx, byUser(by), id)
    return { outcome: 'ended' }
  })
}

/** Before an application is deleted. */
export async function endTestModeOf(tx: Transaction, actor: Actor, applicationId: string): Promise<void> {
  if (await lockTestMode(tx, applicationId)) await end(tx, actor, applicationId)
}

/** When a user's credentials may have been stolen, or the user was disabled: what they switched on ends as well. */
export async function endTestModesOf(tx: Transaction, actor: Actor, userId: string): Promise<void> {
  for (const id of await lockTestModesOf(tx, userId)) await end(tx, actor, id)
}

/** Housekeeping only: what is past its time is refused without it. */
export async function endOverdueTestModes(db: Postgres): Promise<void> {
  for (const id of await listOverdueTestModes(db)) {
    await db.transaction(async (tx) => {
      const known = await lockTestMode(tx, id)
      if (known && !runningTestMode(known, known.now)) await end(tx, EXPIRED, id)
    })
  }
}

/** When a signing key is retired: the secret of test mode is compared by that key only. */
export async function endTestModesOfKey(db: Postgres, actor: Actor, keyId: number): Promise<void> {
  for (const id of await listTestModesOfKey(db, keyId)) {
    await db.transaction(async (tx) => {
      const known = await lockTestMode(tx, id)
      if (known?.testMode.secret.keyId === keyId) await end(tx, actor, id)
    })
  }
}

const EXPIRED = byService('test-mode')

/** Revokes everything that was granted in test mode. Callers have locked it. */
async function end(tx: Transaction, actor: Actor, id: string): Promise<void> {
  await markApplicationChanged(tx, id)
  await deleteTestMode(tx, id)
  await revokeGrants(tx, actor, { testsOf: id }, 'test_mode_ended')
  const accountId = (await findApplication(tx, id))?.accountId
  const about = { ...(accountId ? { accountId } : {}), applicationId: id }
  await recordEvent(tx, { kind: 'application.test_mode_ended', actor, ...about })
}
