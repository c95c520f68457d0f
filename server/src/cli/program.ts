/**
 * Command line: `latchkey noun verb`, one file per noun, `--json` everywhere.
 *
 * `cli/` parses arguments, calls a flow and prints the outcome. It contains no decisions.
 */
import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { SWEEP_SETTINGS, sweep } from '../flows/sweep.ts'
import { migrate } from '../store/postgres/migrate.ts'
import { addAccountCommands } from './account.ts'
import { addApplicationCommands } from './application.ts'
import { addAuditCommands } from './audit.ts'
import { addCodeCommands } from './code.ts'
import { addDemoCommand } from './demo.ts'
import { addDoctorCommand } from './doctor.ts'
import { addKeyCommands } from './key.ts'
import { addLoginCommand } from './login.ts'
import { type OutputOptions, print, STATUSES } from './output.ts'
import { addStatusCommands } from './status.ts'
import { addUserCommands } from './user.ts'
import { type Wiring, withDatabase } from './wiring.ts'

export function createProgram(wiring: Wiring): Command {
  const program = new Command('latchkey')
    .description('OAuth 2.0 authorization server for services whose accounts have their own subdomains.')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(add --help for usage)')
    .addHelpText('after', STATUSES)

  program
    .command('serve')
    .description('Run the server until SIGTERM.')
    .action(() => wiring.serve())

  program
    .command('migrate')
    .description('Apply pending migrations. Safe to run from several processes at once.')
    .option('--json', 'print one JSON object')
    .action(async (options: OutputOptions) => {
      const applied = await migrate(readConfig(['databaseUrl']).databaseUrl)
      const words =
        applied.length === 0 ? 'Nothing to do: the database is up to date.' : `Applied ${applied.join(', ')}.`
      print(options, { applied }, words)
    })

  program
    .command('sweep')
    .description(
      'Create upcoming partitions and delete expired data. The running service does this every five minutes.',
    )
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const dropped = await sweep(db, readConfig(SWEEP_SETTINGS))
        const left = dropped.left.length > 0 ? `, skipped ${dropped.left.length} because the table was in use` : ''
        const words = `Dropped ${dropped.partitions.length} partitions${left}; revoked ${dropped.revokedGrants} grants whose credentials were never collected.`
        print(options, dropped, words)
      }),
    )

  addKeyCommands(program)
  addAccountCommands(program)
  addUserCommands(program)
  addApplicationCommands(program)
  addCodeCommands(program, wiring)
  addAuditCommands(program)
  addDoctorCommand(program)
  program.commandsGroup('Commands for users of a service:')
  addLoginCommand(program)
  addStatusCommands(program)
  addDemoCommand(program, wiring)
  return program
}
