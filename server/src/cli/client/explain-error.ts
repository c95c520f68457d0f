/** Errors of commands: a sentence for the person who can fix the cause, and the exit status. */
import { ConfigurationError } from '../../setting-texts.ts'
import { CommandRefused } from './output.ts'

const REMEDIABLE = 1
const CONFIGURATION = 2

export function statusOf(error: unknown): number {
  if (error instanceof ConfigurationError) return CONFIGURATION
  return error instanceof CommandRefused ? error.status : REMEDIABLE
}

/** `sentences`: for error codes of PostgreSQL, and of a failed `listen`. */
export function explainError(error: unknown, sentences: Readonly<Record<string, string>> = {}): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof ConfigurationError) {
    return `latchkey cannot start with this configuration:\n${error.message.replace(/^/gm, '  ')}`
  }
  // Unavailable is recognised by its name: importing the class would load the PostgreSQL client.
  if (error instanceof CommandRefused || error.name === 'Unavailable') return error.message
  const { code, syscall, path } = error as NodeJS.ErrnoException
  if (syscall === 'open' && path !== undefined) return `${path} cannot be opened: ${code}.`
  const sentence = syscall === undefined || syscall === 'listen' ? sentences[String(code)] : undefined
  return sentence ?? error.stack ?? error.message
}
