/** Words of `latchkey migrate --plan`. */
import type { PlannedMigration, PlannedStatement } from '../store/postgres/migration-plan.ts'
import { blockedBy } from '../store/postgres/table-locks.ts'

const RUNS: Readonly<Record<PlannedMigration['runs'], string>> = {
  'in a transaction': 'in one transaction',
  'statement by statement': 'outside a transaction, statement by statement',
  'in batches': 'outside a transaction, in batches of rows',
}

const WORK: Readonly<Record<PlannedStatement['work'], string>> = {
  catalogue: 'changes the catalogue only',
  reads: 'reads the whole table',
  rewrites: 'writes the whole table again',
  rows: 'writes rows',
}

export function wordsOfPlan(plan: readonly PlannedMigration[]): string {
  if (plan.length === 0) return 'Nothing to do: the database is up to date.'
  return plan
    .map(({ name, runs, statements }) => [`${name}, ${RUNS[runs]}`, ...statements.map(words)].join('\n'))
    .join('\n')
}

function words({ sql, locks, work }: PlannedStatement): string {
  const lines = locks.map(
    ({ table, mode, ...size }) =>
      `    ${mode} on ${table} (${sizeInWords(size)}): ${blocksInWords(mode)}; ${WORK[work]}`,
  )
  return [`  ${shorten(sql)}`, ...(lines.length === 0 ? [`    no table lock; ${WORK[work]}`] : lines)].join('\n')
}

function blocksInWords(mode: PlannedStatement['locks'][number]['mode']): string {
  const blocked = blockedBy(mode)
  return blocked === 'nobody' ? 'blocks nobody' : `blocks ${blocked} while it runs`
}

function sizeInWords({ rows, bytes }: { readonly rows: number | null; readonly bytes: number | null }): string {
  if (bytes === null) return 'new'
  const megabytes = `${(bytes / 1_000_000).toFixed(1)} MB`
  return rows === null ? megabytes : `about ${rows.toLocaleString('en')} rows, ${megabytes}`
}

const MAX_LENGTH = 100

function shorten(sql: string): string {
  const line = sql.replace(/\s+/g, ' ')
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH - 1)}…`
}
