/** The language a user chose: remembered, because mails are written in it, too. */
import type { Visitor } from '../store/sessions.ts'
import { saveLanguage } from '../store/sign-in-methods.ts'
import type { Context } from './context.ts'

export function chooseUserLanguage(context: Context, visitor: Visitor, language: string): Promise<void> {
  return saveLanguage(context.db, visitor.id, language)
}
