/** What a command prints: words for a person, or with --json one object for a script. */
import type { Registered } from '../flows/register.ts'

/** Something a person can mend. Printed as it is, without a stack; the command ends with status 1. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused'
}

export type OutputOptions = { readonly json?: boolean }

export function print(options: OutputOptions, value: Readonly<Record<string, unknown>>, words: string): void {
  console.log(options.json ? JSON.stringify(value) : words)
}

export function unwrap<T>(result: Registered<T>): T {
  if (result.outcome === 'refused') throw new CommandRefused(result.why)
  return result.value
}
