/**
 * Refused sign-ins and pages, counted in process and saved every few seconds: a request that is refused writes nothing and
 * takes equally long whether the address exists. A crash loses a few seconds of them.
 */
import { byAnybody } from '../../core/audit/actor.ts'
import { type CountedRefusal, isSummedUp } from '../../core/audit/counted.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { insertMail, lockRecentMails } from '../../store/mails.ts'
import { type Postgres, Unavailable } from '../../store/postgres/postgres.ts'
import { readSignInUser } from '../../store/sign-in/methods.ts'
import {
  addRefusal,
  addRefusals,
  type Refusals as RefusalCount,
  recordPastRefusals,
} from '../../store/sign-in/refusals.ts'

export type Refusals = {
  count(refusal: CountedRefusal): void
  /**
   * Saves the counts. Concurrent calls run one after the other. Throws if PostgreSQL is unavailable, and keeps the counts
   * for the next call.
   */
  save(): Promise<void>
}

/** Distinct refusals kept between two saves. Further ones are not counted. */
const MAX_COUNTED = 20_000

export function createRefusals(db: Postgres): Refusals {
  let counted = new Map<string, RefusalCount>()

  const add = (refusal: RefusalCount) => {
    const { kind, accountId, subject, network, reason } = refusal
    const key = JSON.stringify([kind, accountId, subject, network, reason])
    const known = counted.get(key)
    if (known) counted.set(key, { ...known, count: known.count + refusal.count })
    else if (counted.size < MAX_COUNTED) counted.set(key, refusal)
  }
  const write = async () => {
    const saving = [...counted.values()]
    if (saving.length === 0) return
    counted = new Map()
    const unsaved = new Set(saving)
    const summed = saving.filter(({ kind }) => isSummedUp(kind))
    try {
      await addRefusals(db, summed)
      for (const each of summed) unsaved.delete(each)
      for (const each of unsaved) {
        await recordFirst(db, each)
        unsaved.delete(each)
      }
    } catch (error) {
      if (error instanceof Unavailable) unsaved.forEach(add)
      throw error
    }
  }
  let last: Promise<void> = Promise.resolve()
  return {
    count: (refusal) => add({ ...refusal, count: 1 }),
    save: () => {
      last = last.catch(() => undefined).then(write)
      return last
    },
  }
}

/** Records the first one of an hour. A lock-out is mailed to the user, at most once a day. */
function recordFirst(db: Postgres, refusal: CountedRefusal): Promise<void> {
  const { kind, accountId, userId, network, reason, subject } = refusal
  return db.transaction(async (tx) => {
    const mailTo = kind === 'session.locked' && userId !== null && accountId !== null ? { userId, accountId } : null
    const mails = mailTo ? await lockRecentMails(tx, mailTo.userId, ['sign_in_locked'], 24) : 0
    if (!(await addRefusal(tx, refusal))) return
    await recordEvent(tx, {
      kind,
      actor: byAnybody('web'),
      ...(accountId === null ? {} : { accountId }),
      ...(userId === null ? {} : { userId }),
      detail: { reason, ...(network === null ? {} : { network }), ...(subject === '' ? {} : { address: subject }) },
    })
    const user = mailTo && mails === 0 && (await readSignInUser(tx, mailTo.accountId, mailTo.userId))
    if (!mailTo || !user || user.disabled) return
    const language = user.language ?? 'en'
    await insertMail(tx, { kind: 'sign_in_locked', ...mailTo, linkId: null, language, detail: { network } })
  })
}

/** Records what was counted in past hours. */
export async function recordRefusals(db: Postgres): Promise<void> {
  while (await db.transaction(recordPastRefusals));
}
