/**
 * Resume token: everything that `latchkey login --resume` needs to collect the outcome of a code that another process
 * requested, on this machine or on another one. It contains the device code, and so is a secret until the code expires;
 * it does not contain the secret of the application.
 */
import type { SavedSession } from '@latchkey/sdk'
import type { Place } from './client-settings.ts'
import type { Login } from './kept-login.ts'
import { CommandRefused } from './output.ts'

export type Resumable = Login & {
  readonly profile: string
  /** Undefined: the keyring if there is one. */
  readonly wanted: Place | undefined
  readonly session: SavedSession
}

const PREFIX = 'resume_'

export function makeResumeToken(resumable: Resumable): string {
  return `${PREFIX}${Buffer.from(JSON.stringify(resumable)).toString('base64url')}`
}

/** The client library checks the session itself. */
export function readResumeToken(token: string): Resumable {
  try {
    if (!token.startsWith(PREFIX)) throw new Error('not a resume token')
    const read: Resumable = JSON.parse(Buffer.from(token.slice(PREFIX.length), 'base64url').toString())
    const texts = [read.server, read.application, read.profile]
    if (texts.every((text) => typeof text === 'string') && typeof read.session === 'object') return read
  } catch {
    // Falls through to the refusal.
  }
  throw new CommandRefused('This is not a resume token of "latchkey login --no-wait". Start again without --resume.')
}
