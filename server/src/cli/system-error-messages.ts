/** Error codes of PostgreSQL, and of the operating system for `listen`, that commands for operators meet, as sentences. */
export const SYSTEM_ERROR_MESSAGES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'The port is in use. Choose another one with PORT, or stop the process that listens on it.',
  EACCES: 'This user may not listen on the port. Choose one above 1023 with PORT.',
  '3D000': 'The database in DATABASE_URL does not exist. Create it, then run "latchkey migrate".',
  '28000': 'PostgreSQL rejects the user in DATABASE_URL.',
  '28P01': 'PostgreSQL rejects the password in DATABASE_URL.',
  '42501':
    'The user in DATABASE_URL lacks privileges. To migrate, it must own the database; for "serve", see docs/operations/audit-log.md, "A role that owns nothing".',
  '42P01': 'The database was not migrated. Run "latchkey migrate" first.',
}
