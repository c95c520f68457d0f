/** Appeal: the owner of a suspended application asks for its return. Only operators read it, in the review. */
import { byUser } from '../../core/audit/actor.ts'
import { isValidText } from '../../core/reviews/review.ts'
import { readOwnApplication } from '../../store/applications/own.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { readClock } from '../../store/device/partitions.ts'
import { findOpenReview, lockReviews, saveReview } from '../../store/reviews/reviews.ts'
import { asAdministrator, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'
import { openReviewByHand } from './open.ts'

export type AppealResult = { readonly outcome: 'appealed' | 'not_found' | 'not_suspended' | 'unfit' } | Forbidden

/** One appeal per review. A second one changes nothing, so that owners cannot make pending decisions stale. */
export function appeal(context: Context, by: string, applicationId: string, words: string): Promise<AppealResult> {
  return asAdministrator(context, by, async (tx, account): Promise<AppealResult> => {
    await lockReviews(tx, applicationId)
    const application = await readOwnApplication(tx, account.id, applicationId)
    if (!application) return { outcome: 'not_found' }
    if (!application.suspended) return { outcome: 'not_suspended' }
    const text = words.trim()
    if (!isValidText(text)) return { outcome: 'unfit' }
    const now = await readClock(tx)
    const open = await findOpenReview(tx, applicationId)
    if (open && open.appealedAt !== null) return { outcome: 'appealed' }
    const review = open ?? (await openReviewByHand(context, tx, application, now))
    const appealed = { appealedAt: now, appealedBy: by, appeal: text }
    await saveReview(tx, { ...review, ...appealed, version: review.version + 1 })
    const about = { actor: byUser(by), accountId: account.id, applicationId }
    await recordEvent(tx, { kind: 'application.appealed', ...about, detail: { review: review.id } })
    return { outcome: 'appealed' }
  })
}
