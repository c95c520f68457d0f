/** Output of commands: text for people, or with --json one object for scripts; and the exit statuses. */

/** An error that the user can fix. Printed without a stack trace; the command exits with `status`, 1 by default. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused'
  readonly status: number

  constructor(message: string, status = 1) {
    super(message)
    this.status = status
  }
}

/** Not logged in, or the access has ended. */
export const NOT_LOGGED_IN = 4
/** The service could not be reached or cannot answer at the moment: retrying later may help. */
export const UNREACHABLE = 5
/** The user rejected the request. */
export const REJECTED = 6
/** The code expired before the user decided. */
export const EXPIRED = 7
/** With --no-wait: the user has not decided yet. */
export const PENDING = 8
/** Ctrl-C, as shells report it: 128 plus the number of SIGINT. */
export const INTERRUPTED = 130

/** Exit statuses of the commands for users. docs/command-line.md, "Exit status", lists those of all commands. */
export const STATUSES: Readonly<Record<number, string>> = {
  0: 'success',
  1: 'the command failed, see the message',
  2: 'invalid configuration',
  [NOT_LOGGED_IN]: 'not logged in, or the access was revoked or has expired',
  [UNREACHABLE]: 'the service is unreachable or unavailable',
  [REJECTED]: 'the user rejected the request',
  [EXPIRED]: 'the code expired',
  [PENDING]: 'login --no-wait: the user has not decided yet',
  [INTERRUPTED]: 'interrupted by Ctrl-C',
}

export function statusesInWords(statuses: Readonly<Record<number, string>>): string {
  const lines = Object.entries(statuses).map(([status, about]) => `  ${status.padEnd(5)}${about}`)
  return `\nExit status:\n${lines.join('\n')}`
}

export type OutputOptions = { readonly json?: boolean }

export function print(options: OutputOptions, value: Readonly<Record<string, unknown>>, words: string): void {
  console.log(options.json ? JSON.stringify(value) : words)
}
