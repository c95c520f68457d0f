/** Splitter of a migration into statements: migrate.ts runs them one by one, migration-plan.ts classifies them. */

/** Tokens in which a semicolon does not end a statement: comments, strings, quoted names, dollar-quoted bodies. */
const TOKEN = /--[^\n]*|\/\*.*?\*\/|[eE]'(?:[^'\\]|\\.)*'|'[^']*'|"[^"]*"|(\$\w*\$).*?\1|;|./gs

export function splitStatements(sql: string): readonly string[] {
  const statements = ['']
  for (const [token] of sql.matchAll(TOKEN)) {
    if (token === ';') statements.push('')
    // A comment separates words, as a space does.
    else statements.push(statements.pop() + (/^(--|\/\*)/.test(token) ? ' ' : token))
  }
  const trimmed = statements.map((statement) => statement.trim()).filter((statement) => statement !== '')
  // Semicolons inside such a body look like those between statements.
  if (trimmed.some((statement) => /\bbegin\s+atomic\b/i.test(statement))) {
    throw new Error('"begin atomic" is not supported: write the body in dollar quotes')
  }
  return trimmed
}
