/** Commands for users of a service: the whole command line of `@latchkey/cli`, and a part of the server's. */
import { Command } from 'commander'
import { VERSION } from '../../version.ts'

export type Entry = {
  readonly name: string
  readonly about: string
  /**
   * Adds options and subcommands; if `verb` is given, at least the subcommand of this name. Imports what they need, so
   * that no other command waits for it.
   */
  define(command: Command, createWholeProgram: () => Promise<Command>, verb: string | undefined): Promise<void>
}

export const FOR_USERS: readonly Entry[] = [
  {
    name: 'login',
    about: 'Log in to a service: show a code and wait for your decision.',
    define: async (command) => (await import('./login.ts')).defineLogin(command),
  },
  {
    name: 'status',
    about: 'Show the logins of this machine: service, account, user, scope and expiry.',
    define: async (command) => (await import('./status.ts')).defineStatus(command),
  },
  {
    name: 'switch',
    about: 'Choose the login that commands use, of several on this machine.',
    define: async (command) => (await import('./status.ts')).defineSwitch(command),
  },
  {
    name: 'token',
    about: 'Print a valid credential of the current login, for use by other programs. It is a secret.',
    define: async (command) => (await import('./status.ts')).defineToken(command),
  },
  {
    name: 'logout',
    about: 'Revoke your access at the service, then delete the stored login.',
    define: async (command) => (await import('./status.ts')).defineLogout(command),
  },
  {
    name: 'completion',
    about: 'Print a completion script for bash, zsh or fish.',
    define: async (command, createWholeProgram) =>
      (await import('./completion.ts')).defineCompletion(command, createWholeProgram),
  },
]

export function createBareProgram(description: string, statuses: string): Command {
  return (
    new Command('latchkey')
      .description(description)
      .version(VERSION, '-V, --version', 'print the version')
      // Before the command only: `app accept-proposal` has a --version of its own.
      .enablePositionalOptions()
      .showHelpAfterError('(add --help for usage)')
      .addHelpText('after', statuses)
  )
}

/** `wanted`: names of the commands whose options and subcommands are needed. All by default. */
export async function addCommands(
  program: Command,
  entries: readonly Entry[],
  wanted: readonly string[] | undefined,
  createWholeProgram: () => Promise<Command>,
): Promise<void> {
  for (const { name, about, define } of entries) {
    const command = program.command(name).description(about)
    if (!wanted || wanted.includes(name)) await define(command, createWholeProgram, wanted?.[1])
  }
}
