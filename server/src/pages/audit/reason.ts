/** Text of a recorded reason: why a grant was revoked, or an application warned, suspended or reinstated. */
import { isRevocationReason } from '../../core/grants/revocation-reason.ts'
import { isSuspensionReason } from '../../core/reviews/review.ts'
import type { Words } from '../ui/words.ts'

/** Null for a reason that a newer version may have written. */
export function reasonText(words: Words, reason: unknown): string | null {
  if (isRevocationReason(reason)) return words.t(`revocation_reason.${reason}`)
  if (isSuspensionReason(reason)) return words.t(`suspension_reason.${reason}`)
  return null
}
