/** Mail to all administrators of an account, or all but one, each in their own language. */
import type { MailContent } from '../../core/mail.ts'
import { listAdministrators } from '../../store/accounts/users.ts'
import { insertMails } from '../../store/mails.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'

export async function notifyAdministrators(
  tx: Transaction,
  accountId: string,
  matter: MailContent,
  exceptId: string | null = null,
  afterMs = 0,
): Promise<void> {
  const others = (await listAdministrators(tx, accountId)).filter(({ id }) => id !== exceptId)
  const about = { ...matter, accountId, linkId: null, afterMs }
  await insertMails(
    tx,
    others.map(({ id: userId, language }) => ({ ...about, userId, language: language ?? 'en' })),
  )
}
