/** Splitter of a migration into statements, for those that PostgreSQL runs only one at a time (migrate.ts). */

/**
 * Tokens in which a semicolon does not end a statement: comments, strings, quoted names, dollar-quoted bodies. Strings
 * with an escaped quote (E'\'') and `begin atomic` bodies are not supported; they belong in an ordinary migration.
 */
const TOKEN = /--[^\n]*|\/\*.*?\*\/|'[^']*'|"[^"]*"|(\$\w*\$).*?\1|;|./gs

export function splitStatements(sql: string): readonly string[] {
  const statements = ['']
  for (const [token] of sql.matchAll(TOKEN)) {
    if (token === ';') statements.push('')
    // A comment separates words, as a space does.
    else statements.push(statements.pop() + (/^(--|\/\*)/.test(token) ? ' ' : token))
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '')
}
