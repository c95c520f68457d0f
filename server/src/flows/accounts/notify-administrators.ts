/** Mail to all administrators of an account, or all but one, each in their own language. */
import type { MailContent } from '../../core/mail.ts'
import { listAdministrators } from '../../store/accounts/users.ts'
import { insertMail } from '../../store/mails.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'

export async function notifyAdministrators(
  tx: Transaction,
  accountId: string,
  matter: MailContent,
  exceptId: string | null = null,
): Promise<void> {
  for (const { id: userId, language } of await listAdministrators(tx, accountId)) {
    if (userId === exceptId) continue
    await insertMail(tx, { ...matter, accountId, userId, linkId: null, language: language ?? 'en' })
  }
}
