#!/usr/bin/env node
/**
 * Executable: runs the command line. Errors are printed as sentences for the person who can fix them; the exit status
 * is meant for scripts.
 */
import { CommandRefused } from './cli/output.ts'
import { createProgram } from './cli/program.ts'
import { ConfigurationError } from './config.ts'
import { GeoIpUnreadable } from './geoip.ts'
import { Unavailable } from './store/postgres/postgres.ts'

const REMEDIABLE = 1
const CONFIGURATION = 2

/** Error codes of the operating system and of PostgreSQL, as sentences. */
const SENTENCES: Record<string, string> = {
  EADDRINUSE: 'The port is in use. Choose another one with PORT, or stop the process that listens on it.',
  EACCES: 'This user may not listen on the port. Choose one above 1023 with PORT.',
  '3D000': 'The database in DATABASE_URL does not exist. Create it, then run "latchkey migrate".',
  '28000': 'PostgreSQL rejects the user in DATABASE_URL.',
  '28P01': 'PostgreSQL rejects the password in DATABASE_URL.',
  '42501':
    'The user in DATABASE_URL lacks privileges. To migrate, it must own the database; for "serve", see docs/operations.md, "A role that owns nothing".',
  '42P01': 'The database was not migrated. Run "latchkey migrate" first.',
}

/** Imported on demand: most commands do not need the service, and loading it takes longer than they run. */
const app = () => import('./app.ts')

try {
  const program = createProgram({
    serve: async () => (await app()).serve(),
    createContext: async (config) => (await app()).createContext(config),
    closeContext: async (context) => (await app()).closeContext(context),
  })
  await program.parseAsync(process.argv)
} catch (error) {
  const configuration = error instanceof ConfigurationError || error instanceof GeoIpUnreadable
  process.exitCode = configuration ? CONFIGURATION : error instanceof CommandRefused ? error.status : REMEDIABLE
  process.stderr.write(`${explain(error)}\n`)
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof ConfigurationError || error instanceof GeoIpUnreadable) {
    return `latchkey cannot start with this configuration:\n${error.message.replace(/^/gm, '  ')}`
  }
  if (error instanceof CommandRefused || error instanceof Unavailable) return error.message
  const sentence = 'code' in error ? SENTENCES[String(error.code)] : undefined
  return sentence ?? error.stack ?? error.message
}
