#!/usr/bin/env node
/** Executable of `@latchkey/cli`: the commands for users, without the server. */
import type { Command } from 'commander'
import { addCommands, createBareProgram, FOR_USERS } from './commands.ts'
import { STATUSES, statusesInWords } from './output.ts'

async function createProgram(wanted?: readonly string[]): Promise<Command> {
  const program = createBareProgram('Log in to services that run Latchkey.', statusesInWords(STATUSES))
  await addCommands(program, FOR_USERS, wanted, createProgram)
  return program
}

try {
  // Two arguments: "latchkey help login" describes the same command as "latchkey login --help".
  const program = await createProgram(process.argv.slice(2, 4))
  await program.parseAsync(process.argv)
} catch (error) {
  const { explainError, statusOf } = await import('./explain-error.ts')
  process.exitCode = statusOf(error)
  process.stderr.write(`${explainError(error)}\n`)
}
