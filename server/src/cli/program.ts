/**
 * Command line: `latchkey noun verb`, one file per noun, `--json` everywhere.
 *
 * `cli/` parses arguments, calls a flow and prints the outcome. It contains no decisions.
 */
import { Command } from 'commander'
import { VERSION } from '../version.ts'
import { STATUSES } from './output.ts'
import type { Wiring } from './wiring.ts'

type Entry = {
  readonly name: string
  readonly about: string
  /** Adds options and subcommands. Imports what they need, so that no other command waits for it. */
  define(command: Command, wiring: Wiring): Promise<void>
}

const FOR_OPERATORS: readonly Entry[] = [
  {
    name: 'serve',
    about: 'Run the server until SIGTERM.',
    define: async (command, wiring) => {
      command.action(() => wiring.serve())
    },
  },
  {
    name: 'migrate',
    about: 'Apply pending migrations. Safe to run from several processes at once.',
    define: async (command) => (await import('./database.ts')).defineMigrate(command),
  },
  {
    name: 'sweep',
    about: 'Create upcoming partitions and delete expired data. The running service does this every five minutes.',
    define: async (command) => (await import('./database.ts')).defineSweep(command),
  },
  {
    name: 'key',
    about: 'Signing keys.',
    define: async (command) => (await import('./key.ts')).defineKey(command),
  },
  {
    name: 'account',
    about: 'Accounts, each at its own subdomain.',
    define: async (command) => (await import('./account.ts')).defineAccount(command),
  },
  {
    name: 'role',
    about: 'Roles of an account: named sets of scopes.',
    define: async (command) => (await import('./account.ts')).defineRole(command),
  },
  {
    name: 'scope',
    about: 'Catalogue of scopes.',
    define: async (command) => (await import('./account.ts')).defineScope(command),
  },
  {
    name: 'user',
    about: 'Users of an account.',
    define: async (command) => (await import('./user.ts')).defineUser(command),
  },
  {
    name: 'app',
    about: 'Third-party applications.',
    define: async (command) => (await import('./application.ts')).defineApplication(command),
  },
  {
    name: 'code',
    about: 'User codes of the device flow.',
    define: async (command, wiring) => (await import('./code.ts')).defineCode(command, wiring),
  },
  {
    name: 'audit',
    about: 'Audit log with tamper-evident seals.',
    define: async (command) => (await import('./audit.ts')).defineAudit(command),
  },
  {
    name: 'doctor',
    about:
      'Check configuration, keys, PostgreSQL, Redis, schema, clocks, hosts and mail, and print how to fix problems.',
    define: async (command) => (await import('./doctor.ts')).defineDoctor(command),
  },
  {
    name: 'completion',
    about: 'Print a completion script for bash, zsh or fish.',
    define: async (command, wiring) =>
      (await import('./completion.ts')).defineCompletion(command, () => createProgram(wiring)),
  },
]

const FOR_USERS: readonly Entry[] = [
  {
    name: 'login',
    about: 'Log in to a service: show a code and wait for your decision.',
    define: async (command) => (await import('./login.ts')).defineLogin(command),
  },
  {
    name: 'status',
    about: 'Show the current login: service, account, user, scope and expiry.',
    define: async (command) => (await import('./status.ts')).defineStatus(command),
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
    name: 'demo',
    about: 'Run the device flow against a running service and explain each request.',
    define: async (command, wiring) => (await import('./demo.ts')).defineDemo(command, wiring),
  },
]

/** `wanted`: names of the commands whose options and subcommands are needed. All by default. */
export async function createProgram(wiring: Wiring, wanted?: readonly string[]): Promise<Command> {
  const program = new Command('latchkey')
    .description('OAuth 2.0 authorization server for services whose accounts have their own subdomains.')
    .version(VERSION, '-V, --version', 'print the version')
    // Before the command only: `app accept-proposal` has a --version of its own.
    .enablePositionalOptions()
    .showHelpAfterError('(add --help for usage)')
    .addHelpText('after', STATUSES)
  const add = async (entries: readonly Entry[]) => {
    for (const { name, about, define } of entries) {
      const command = program.command(name).description(about)
      if (!wanted || wanted.includes(name)) await define(command, wiring)
    }
  }
  await add(FOR_OPERATORS)
  program.commandsGroup('Commands for users of a service:')
  await add(FOR_USERS)
  return program
}
