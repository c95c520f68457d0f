/** Migrations with the kinds of their statements: for the plan, and for the test that refuses what an upgrade may not contain. */
import type { Migration } from './migration-files.ts'
import { classifyStatement, type Statement } from './statement-kinds.ts'

export type ClassifiedMigration = Omit<Migration, 'statements'> & { readonly statements: readonly Statement[] }

/** All of them, in order: what a statement costs depends on those before it. Throws if one is of no known kind. */
export function classifyMigrations(migrations: readonly Migration[]): readonly ClassifiedMigration[] {
  const checks = new NotNullChecks()
  return migrations.map((migration) => ({
    ...migration,
    statements: migration.statements.map((sql) => {
      const statement = classifyStatement(sql)
      if (!statement) throw new Error(`${migration.name} has a statement of an unknown kind: ${sql}`)
      checks.follow(statement)
      const proven = statement.kinds.every((kind) => kind === 'set not null') && statement.groups.every(checks.proves)
      return proven ? { ...statement, work: 'catalogue' } : statement
    }),
  }))
}

/** Constraints `check (column is not null)`: once one is validated, `set not null` does not read the table. */
class NotNullChecks {
  readonly #columns = new Map<string, string>()
  readonly #validated = new Set<string>()

  follow({ kinds, groups }: Statement): void {
    kinds.forEach((kind, at) => {
      const { table, constraint, expression } = groups[at] ?? {}
      const column = /^(\w+) is not null$/i.exec(expression ?? '')?.[1]
      if (kind === 'add check not valid' && column) this.#columns.set(`${table}.${constraint}`, `${table}.${column}`)
      const proven = this.#columns.get(`${table}.${constraint}`)
      if (kind === 'validate constraint' && proven) this.#validated.add(proven)
      if (kind === 'drop constraint' && proven) this.#validated.delete(proven)
    })
  }

  readonly proves = ({ table, column }: Statement['groups'][number]): boolean =>
    this.#validated.has(`${table}.${column}`)
}
