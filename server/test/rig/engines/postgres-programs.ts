/** PostgreSQL's own programs, statements on a connection of their own, and signals to all processes of a server. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import pg from 'pg'
import { postgresCommand } from '../../../../tools/engine-processes.ts'

/** Not synchronously: a proxy may be in this process. */
export async function runProgram(program: string, ...args: string[]): Promise<void> {
  const [file = '', ...rest] = postgresCommand(program, args)
  await promisify(execFile)(file, rest, { cwd: '/' })
}

/** The rows of the last statement. */
// biome-ignore lint/suspicious/noExplicitAny: a test's own statements
export async function runStatements(url: string, ...statements: readonly string[]): Promise<any[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    let rows: unknown[] = []
    for (const statement of statements) rows = (await client.query(statement)).rows
    return rows
  } finally {
    await client.end()
  }
}

/** Signals every process: the backends of a stopped postmaster would still answer. */
export function signalAll(postmaster: number | null, signal: NodeJS.Signals): void {
  for (const each of processesOf(postmaster)) {
    try {
      process.kill(each, signal)
    } catch (error) {
      // A backend whose client has gone may end between being listed and being signalled.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/** A postmaster that was killed leaves its number behind, and has no processes. */
export function processesOf(postmaster: number | null): readonly number[] {
  const list = `/proc/${postmaster}/task/${postmaster}/children`
  if (postmaster === null || !existsSync(list)) return []
  const children = readFileSync(list, 'utf8')
    .trim()
    .split(' ')
    .filter((each) => each !== '')
  return [postmaster, ...children.map(Number)]
}
