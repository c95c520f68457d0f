/** Mail to all administrators of the owning account about a review. It never names the operator. */
import type { Application } from '../../core/applications/application.ts'
import type { ReviewNotification } from '../../core/mail.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'

type Notice = Pick<ReviewNotification, 'what' | 'suspended'> & Partial<ReviewNotification>

export async function notifyOwners(
  tx: Transaction,
  application: Pick<Application, 'id' | 'accountId' | 'name'>,
  notice: Notice,
): Promise<void> {
  const { id, accountId, name } = application
  const nothing = { reason: null, words: null, figures: null, until: null, intervalSeconds: null }
  const detail: ReviewNotification = { ...nothing, ...notice, applicationId: id, application: name }
  await notifyAdministrators(tx, accountId, { kind: 'application_review', detail })
}
