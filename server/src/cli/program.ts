/**
 * Command line: `latchkey noun verb`, one file per noun, `--json` where a result is printed.
 *
 * `cli/` parses arguments, calls a flow and prints the outcome. It contains no decisions.
 */
import type { Command } from 'commander'
import { addCommands, createBareProgram, type Entry, FOR_USERS } from './client/commands.ts'
import { STATUSES } from './output.ts'
import type { Wiring } from './wiring.ts'

function noun(name: 'account' | 'scope' | 'role' | 'user' | 'app', about: string, wiring: Wiring): Entry {
  return {
    name,
    about,
    define: async (command, _, verb) => {
      const { NOUNS } = await import('./manage/nouns.ts')
      const { defineVerbs } = await import('./manage/verbs.ts')
      defineVerbs(command, NOUNS[name], wiring)
      if (name === 'user') (await import('./manage/user-verbs.ts')).defineUserVerbs(command, wiring)
      if (name === 'app') (await import('./manage/application-verbs.ts')).defineApplicationVerbs(command, wiring)
      // Verbs that the management API does not have load the PostgreSQL client at once.
      if (command.commands.some((each) => each.name() === verb)) return
      if (name === 'user') (await import('./set-up.ts')).defineLink(command, wiring)
      if (name === 'app') (await import('./application.ts')).defineOperatorVerbs(command)
    },
  }
}

const forOperators = (wiring: Wiring): readonly Entry[] => [
  {
    name: 'serve',
    about: 'Run the server until SIGTERM.',
    define: async (command) => (await import('./serve.ts')).defineServe(command, wiring),
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
  noun('account', 'Accounts, each at its own subdomain.', wiring),
  noun('role', 'Roles of an account: named sets of scopes.', wiring),
  noun('scope', 'Catalogue of scopes.', wiring),
  noun('user', 'Users of an account.', wiring),
  {
    name: 'import',
    about: 'Users from another service, from a file.',
    define: async (command) => (await import('./import.ts')).defineImport(command),
  },
  noun('app', 'Third-party applications.', wiring),
  {
    name: 'manage-key',
    about: 'Keys of the management API.',
    define: async (command) => (await import('./manage-key.ts')).defineManageKey(command),
  },
  {
    name: 'apply',
    about: 'Make scopes, accounts, roles and applications as a file says.',
    define: async (command) => (await import('./manage/apply.ts')).defineApply(command, wiring),
  },
  {
    name: 'export',
    about: 'Print scopes, accounts, roles and applications as such a file.',
    define: async (command) => (await import('./manage/export.ts')).defineExport(command, wiring),
  },
  {
    name: 'code',
    about: 'User codes of the device flow.',
    define: async (command) => (await import('./code.ts')).defineCode(command, wiring),
  },
  {
    name: 'audit',
    about: 'Audit log with tamper-evident seals.',
    define: async (command) => (await import('./audit.ts')).defineAudit(command),
  },
  {
    name: 'restore',
    about: 'What a restore of PostgreSQL from a backup undid.',
    define: async (command) => (await import('./restore.ts')).defineRestore(command),
  },
  {
    name: 'messages',
    about: 'Texts of pages and mails.',
    define: async (command) => (await import('./messages.ts')).defineMessages(command),
  },
  {
    name: 'doctor',
    about:
      'Check configuration, keys, PostgreSQL, Redis, schema, clocks, hosts and mail, and print how to fix problems.',
    define: async (command) => (await import('./doctor.ts')).defineDoctor(command),
  },
]

const forTrying = (wiring: Wiring): readonly Entry[] => [
  {
    name: 'demo',
    about: 'Run the device flow against a running service and explain each request.',
    define: async (command) => (await import('./demo.ts')).defineDemo(command, wiring),
  },
]

const DESCRIPTION = 'OAuth 2.0 authorization server for services whose accounts have their own subdomains.'

/** `wanted`: names of the commands whose options and subcommands are needed. All by default. */
export async function createProgram(wiring: Wiring, wanted?: readonly string[]): Promise<Command> {
  const program = createBareProgram(DESCRIPTION, STATUSES)
  const createWhole = () => createProgram(wiring)
  await addCommands(program, forOperators(wiring), wanted, createWhole)
  program.commandsGroup('Commands for users of a service:')
  await addCommands(program, [...FOR_USERS, ...forTrying(wiring)], wanted, createWhole)
  return program
}
