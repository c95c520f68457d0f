/** What a command prints: words for a person, or with --json one object for a script. */
import type { Registered } from '../flows/register.ts'

/** Something a person can mend. Printed as it is, without a stack; the command ends with status 1, unless it says otherwise. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused'
  readonly status: number

  constructor(message: string, status = 1) {
    super(message)
    this.status = status
  }
}

/** The audit log is not as it was sealed: nothing that a person mends by trying again. */
export const TAMPERED = 3

export type OutputOptions = { readonly json?: boolean }

export function print(options: OutputOptions, value: Readonly<Record<string, unknown>>, words: string): void {
  console.log(options.json ? JSON.stringify(value) : words)
}

export function unwrap<T>(result: Registered<T>): T {
  if (result.outcome === 'refused') throw new CommandRefused(result.why)
  return result.value
}
