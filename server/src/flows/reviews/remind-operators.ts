/**
 * Reminder mails to operators about suspensions that wait for review: when one begins, then daily while any waits.
 * docs/operations/operator-console.md, "When an application polls too fast".
 */
import { findAccount } from '../../store/accounts/accounts.ts'
import { listAdministrators } from '../../store/accounts/users.ts'
import { readClock } from '../../store/device/partitions.ts'
import { findLastMail, insertMail } from '../../store/mails.ts'
import { listWaitingSuspensions, tryLockReminding } from '../../store/reviews/reviews.ts'
import type { Context } from '../context.ts'

const DAY_MS = 24 * 3_600_000

/** Applications named in a mail, longest waiting first; the others are only counted. */
const MAX_NAMED = 20

export async function remindOperators({ db, config }: Pick<Context, 'db' | 'config'>): Promise<void> {
  const { operatorAccount } = config
  if (operatorAccount === null) return
  await db.transaction(async (tx) => {
    // Another process is sending reminders.
    if (!(await tryLockReminding(tx))) return
    const waiting = await listWaitingSuspensions(tx)
    const account = await findAccount(tx, operatorAccount)
    const [oldest] = waiting
    if (!oldest || !account) return
    const newest = Math.max(...waiting.map(({ since }) => since))
    const now = await readClock(tx)
    const detail = {
      count: waiting.length,
      applications: waiting.slice(0, MAX_NAMED).map(({ application }) => application),
      since: oldest.since,
    }
    for (const { id: userId, language } of await listAdministrators(tx, account.id)) {
      const last = await findLastMail(tx, userId, 'suspensions_waiting')
      if (last !== null && last >= newest && now - last < DAY_MS) continue
      const to = { accountId: account.id, userId, linkId: null, language: language ?? 'en' }
      await insertMail(tx, { kind: 'suspensions_waiting', ...to, detail })
    }
  })
}
