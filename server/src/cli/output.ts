/** Output of the commands for operators: outcomes of registrations, and exit statuses beside those of client/output.ts. */
import type { Registered } from '../flows/accounts/register.ts'
import { CommandRefused, STATUSES as OF_CLIENT, statusesInWords } from './client/output.ts'

/** The audit log is not as it was sealed: retrying does not help. */
export const TAMPERED = 3

/** `apply --plan`: the service is not as the file says. */
export const DIFFERENT = 2

/** Printed by `--help`. */
export const STATUSES = statusesInWords({
  ...OF_CLIENT,
  1: 'the command failed, see the message; doctor: warnings only',
  [DIFFERENT]: 'invalid configuration; doctor: something is broken; apply --plan: there are differences',
  [TAMPERED]: 'the audit log was changed',
})

export function unwrap<T>(result: Registered<T>): T {
  if (result.outcome === 'refused') throw new CommandRefused(result.reason)
  return result.value
}
