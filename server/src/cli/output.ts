/** Output of commands: text for people, or with --json one object for scripts; and the exit statuses. */
import type { Registered } from '../flows/accounts/register.ts'

/** An error that the user can fix. Printed without a stack trace; the command exits with `status`, 1 by default. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused'
  readonly status: number

  constructor(message: string, status = 1) {
    super(message)
    this.status = status
  }
}

/** The audit log is not as it was sealed: retrying does not help. */
export const TAMPERED = 3

/** Not logged in, or the access has ended. */
export const NOT_LOGGED_IN = 4
/** The service could not be reached or cannot answer at the moment: retrying later may help. */
export const UNREACHABLE = 5
/** The user rejected the request. */
export const REJECTED = 6
/** The code expired before the user decided. */
export const EXPIRED = 7
/** Ctrl-C, as shells report it: 128 plus the number of SIGINT. */
export const INTERRUPTED = 130

/** Printed by `--help`; docs/command-line.md, "Exit status", says the same. */
export const STATUSES = `
Exit status:
  0    success
  1    the command failed, see the message; doctor: warnings only
  2    invalid configuration; doctor: something is broken
  3    the audit log was changed
  4    not logged in, or the access was revoked or has expired
  5    the service is unreachable or unavailable
  6    the user rejected the request
  7    the code expired
  130  interrupted by Ctrl-C`

export type OutputOptions = { readonly json?: boolean }

export function print(options: OutputOptions, value: Readonly<Record<string, unknown>>, words: string): void {
  console.log(options.json ? JSON.stringify(value) : words)
}

export function unwrap<T>(result: Registered<T>): T {
  if (result.outcome === 'refused') throw new CommandRefused(result.reason)
  return result.value
}
