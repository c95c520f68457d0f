/** Language of a user, stored because mails use it as well. */

import { saveLanguage } from '../../store/sign-in/methods.ts'
import type { SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'

export function chooseUserLanguage(context: Context, sessionUser: SessionUser, language: string): Promise<void> {
  return saveLanguage(context.db, sessionUser.id, language)
}
