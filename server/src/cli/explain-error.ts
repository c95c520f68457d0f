/** Errors of commands: a sentence for the person who can fix the cause, and the exit status. */
import { ConfigurationError } from '../setting-texts.ts'
import { CommandRefused } from './output.ts'

const REMEDIABLE = 1
const CONFIGURATION = 2

/** Error codes of the operating system and of PostgreSQL, as sentences. */
const SENTENCES: Record<string, string> = {
  EADDRINUSE: 'The port is in use. Choose another one with PORT, or stop the process that listens on it.',
  EACCES: 'This user may not listen on the port. Choose one above 1023 with PORT.',
  '3D000': 'The database in DATABASE_URL does not exist. Create it, then run "latchkey migrate".',
  '28000': 'PostgreSQL rejects the user in DATABASE_URL.',
  '28P01': 'PostgreSQL rejects the password in DATABASE_URL.',
  '42501':
    'The user in DATABASE_URL lacks privileges. To migrate, it must own the database; for "serve", see docs/operations.md, "A role that owns nothing".',
  '42P01': 'The database was not migrated. Run "latchkey migrate" first.',
}

export function statusOf(error: unknown): number {
  if (error instanceof ConfigurationError) return CONFIGURATION
  return error instanceof CommandRefused ? error.status : REMEDIABLE
}

export function explainError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof ConfigurationError) {
    return `latchkey cannot start with this configuration:\n${error.message.replace(/^/gm, '  ')}`
  }
  // Unavailable is recognised by its name: importing the class would load the PostgreSQL client.
  if (error instanceof CommandRefused || error.name === 'Unavailable') return error.message
  const sentence = 'code' in error ? SENTENCES[String(error.code)] : undefined
  return sentence ?? error.stack ?? error.message
}
