/**
 * Takes away again what users, roles, accounts, applications, webhooks and management keys had lost of their access in
 * the lost time. What they had got in that time is not given.
 */
import type { Actor } from '../../core/audit/actor.ts'
import type { LeftAccess } from '../../core/restore/replay.ts'
import { lockUserForChange } from '../../store/accounts/users.ts'
import { findApplication, markApplicationChanged, setPublisher } from '../../store/applications/applications.ts'
import { type AuditEvent, recordEvent } from '../../store/audit/events.ts'
import { revokeManagementKey } from '../../store/manage/keys.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import {
  findRoleAccount,
  readAccess,
  takeFromAccount,
  takeFromApplication,
  takeFromRole,
  takeFromUser,
} from '../../store/restore/access.ts'
import { disableEndpoint } from '../../store/webhooks/endpoints.ts'

/** What the event is about, and its kind if it is another one than that of the line. */
type About = Partial<Pick<AuditEvent, 'kind' | 'accountId' | 'userId' | 'applicationId' | 'detail'>>

type Taking = {
  /** Null: it does not exist any more. */
  lock(tx: Transaction, subject: string): Promise<About | null>
  take(tx: Transaction, subject: string, removed: readonly string[], left: readonly string[]): Promise<unknown>
}

/** By the prefix of ids. Accounts are locked by the caller. */
const TAKINGS = {
  acc: {
    lock: async (_, accountId) => ({ accountId }),
    take: takeFromAccount,
  },
  rol: {
    lock: async (tx, role) => {
      const accountId = await findRoleAccount(tx, role)
      return accountId === null ? null : { accountId, detail: { role } }
    },
    take: takeFromRole,
  },
  usr: {
    lock: async (tx, userId) => {
      const user = await lockUserForChange(tx, userId)
      return user && { accountId: user.accountId, userId }
    },
    take: takeFromUser,
  },
  app: {
    lock: async (tx, id) => ((await markApplicationChanged(tx, id)) ? aboutApplication(tx, id) : null),
    take: async (tx, id, removed) => {
      await takeFromApplication(tx, id, removed)
      if (removed.some((name) => name.startsWith('publisher:')))
        await setPublisher(tx, id, { status: 'unverified', name: null }, false)
    },
  },
  whk: {
    lock: async (_, endpoint) => ({ detail: { endpoint } }),
    take: (tx, endpoint) => disableEndpoint(tx, endpoint, 'removed'),
  },
  mgk: {
    // PostgreSQL has the secret of before the rotation; the one of after it is lost.
    lock: async (_, managementKey) => ({ kind: 'management_key.revoked', detail: { managementKey } }),
    take: revokeManagementKey,
  },
} satisfies Readonly<Record<string, Taking>>

/** Returns how many subjects had more than was left. `prefix`: of the subjects, for the lock order. */
export async function takeAccess(
  tx: Transaction,
  actor: Actor,
  access: readonly LeftAccess[],
  prefix: keyof typeof TAKINGS,
): Promise<number> {
  const { lock, take }: Taking = TAKINGS[prefix]
  let count = 0
  for (const { subject, left, kind } of access.filter((each) => each.subject.startsWith(prefix))) {
    const about = await lock(tx, subject)
    const removed = about ? (await readAccess(tx, subject)).filter((name) => !left.includes(name)) : []
    if (removed.length === 0) continue
    await take(tx, subject, removed, left)
    await recordEvent(tx, { kind, actor, ...about, detail: { ...about?.detail, removed } })
    count += 1
  }
  return count
}

async function aboutApplication(tx: Transaction, id: string): Promise<About> {
  const application = await findApplication(tx, id)
  return { ...(application ? { accountId: application.accountId } : {}), applicationId: id }
}
