/**
 * What a migration after the first release may contain: nothing that makes requests wait, and nothing that a running version
 * still needs. docs/operations/upgrade.md, "Breaking changes", has the reasons.
 */
import { type ClassifiedMigration, classifyMigrations } from '../server/src/store/postgres/classified-migrations.ts'
import type { Migration } from '../server/src/store/postgres/migration-files.ts'
import type { Statement } from '../server/src/store/postgres/statement-kinds.ts'
import { blockedBy } from '../server/src/store/postgres/table-locks.ts'

/** Problems of the migrations that `isReleased` does not know; the released ones are only followed. Throws for an unknown kind. */
export function migrationProblems(
  migrations: readonly Migration[],
  isReleased: (name: string) => boolean,
  current: string,
): readonly string[] {
  return classifyMigrations(migrations)
    .filter(({ name }) => !isReleased(name))
    .flatMap((migration) => problemsOf(migration, current).map((problem) => `${migration.name}: ${problem}`))
}

function problemsOf(migration: ClassifiedMigration, current: string): readonly string[] {
  const created = new Set(migration.statements.flatMap(({ groups }) => groups.map(({ creates }) => creates)))
  const isNew = ({ groups }: Statement) => groups.every(({ table }) => table !== undefined && created.has(table))
  const statements = migration.statements.filter((statement) => !isNew(statement))
  return [
    ...contractProblems(migration, current),
    ...statements.flatMap((statement) => statementProblems(migration, statement)),
  ]
}

function statementProblems({ runs, expandedIn }: ClassifiedMigration, statement: Statement): readonly string[] {
  const { sql, kinds, locks, work } = statement
  const problems: string[] = []
  if (statement.breaks && expandedIn === null) problems.push('is allowed in a contract migration only')
  if (statement.outside !== (runs === 'statement by statement') && !MAY_RUN_OUTSIDE.includes(kinds.join())) {
    problems.push(statement.outside ? 'needs "-- latchkey: no-transaction"' : 'has to run in a transaction')
  }
  const blocks = locks.some(({ mode }) => blockedBy(mode) !== 'nobody')
  if (blocks && (work === 'reads' || work === 'rewrites')) problems.push(`${work} a table that requests wait for`)
  if (['update', 'delete'].includes(kinds.join()) && runs !== 'in batches') problems.push('has to run in batches')
  return problems.map((problem) => `"${sql.replace(/\s+/g, ' ')}" ${problem}`)
}

/** Kinds that may also run outside a transaction: they are repeatable, and would only prolong it. */
const MAY_RUN_OUTSIDE = ['validate constraint', 'insert', 'update', 'delete']

function contractProblems({ expandedIn, statements }: ClassifiedMigration, current: string): readonly string[] {
  if (expandedIn === null) return []
  const problems: string[] = []
  if (!statements.some(({ breaks }) => breaks)) problems.push('is called a contract migration and removes nothing')
  const [major = 0, minor = 0] = current.split('.').map(Number)
  const [since = 0, sinceMinor = 0] = expandedIn.split('.').map(Number)
  const next = { major, minor: minor + 1 }
  if (since > next.major || (since === next.major && sinceMinor + 2 > next.minor)) {
    problems.push(
      `contracts what ${expandedIn} expanded: the earliest version for that is ${since}.${sinceMinor + 2}.0`,
    )
  }
  return problems
}
