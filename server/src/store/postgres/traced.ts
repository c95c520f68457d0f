/** Tracing of PostgreSQL: one span per statement, with operation and table, without values or the statement's text. */
import { inSpan } from '../../spans.ts'
import type { Postgres, Queryable } from './postgres.ts'

export function tracePostgres(db: Postgres): Postgres {
  return {
    ...traceQueries(db),
    reads: traceQueries(db.reads),
    transaction: (work) =>
      inSpan({ name: 'transaction', kind: 'internal', attributes: SYSTEM }, () =>
        db.transaction((tx) => work({ ...tx, ...traceQueries(tx) })),
      ),
    pools: db.pools,
    close: db.close,
  }
}

const SYSTEM = { 'db.system.name': 'postgresql' }

function traceQueries(target: Queryable): Queryable {
  return {
    query: (statement, values) => {
      const { operation, table } = wordsOf(typeof statement === 'string' ? statement : (statement.text ?? ''))
      const attributes = { ...SYSTEM, 'db.operation.name': operation, ...(table && { 'db.collection.name': table }) }
      const name = table ? `${operation} ${table}` : operation
      return inSpan({ name, kind: 'client', attributes }, () => target.query(statement, values))
    },
  }
}

type Words = { readonly operation: string; readonly table: string | null }

/** Cache by statement text. Nearly all texts are constant; few name a partition or number their parameters. */
const known = new Map<string, Words>()
const MAX_KNOWN = 2_000

function wordsOf(text: string): Words {
  const before = known.get(text)
  if (before) return before
  const words = read(text)
  if (known.size < MAX_KNOWN) known.set(text, words)
  return words
}

/** Expressions with a `from` that names no table. */
const FROM_WITHOUT_TABLE = /\b(?:extract\s*\(\s*\w+|distinct|substring\s*\(\s*\w+)\s+from\b/gi

const TABLE = /\b(?:insert\s+into|update|delete\s+from|from|join)\s+(?:only\s+)?([a-z_][a-z_0-9.]*)\b(?!\s*\()/i

/**
 * Returns the first keyword and the first table. A name from the statement's own `with` is accepted: it also tells what
 * the statement does.
 */
function read(text: string): Words {
  const operation = /^[\s(]*([a-z]+)/i.exec(text)?.[1]?.toLowerCase() ?? 'query'
  const table = TABLE.exec(text.replace(FROM_WITHOUT_TABLE, ''))?.[1]
  return { operation, table: table ?? null }
}
