/** Splits a migration into its statements, for those that PostgreSQL runs only one at a time (migrate.ts). */

/**
 * What a semicolon may stand in without ending a statement: comments, texts, quoted names, dollar-quoted bodies. Texts with a
 * backslash before a quote (E'\'') and bodies of `begin atomic` are not known here, and belong into an ordinary migration.
 */
const TOKEN = /--[^\n]*|\/\*.*?\*\/|'[^']*'|"[^"]*"|(\$\w*\$).*?\1|;|./gs

export function splitStatements(sql: string): readonly string[] {
  const statements = ['']
  for (const [token] of sql.matchAll(TOKEN)) {
    if (token === ';') statements.push('')
    else if (!/^(--|\/\*)/.test(token)) statements.push(statements.pop() + token)
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '')
}
