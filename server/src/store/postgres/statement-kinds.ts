/**
 * Kinds of statements in migrations: which table locks each takes, and whether it reads or rewrites the table while it holds them.
 *
 * A closed table. A statement of no known kind is not planned: `latchkey migrate --plan` refuses it, and so does the test of new
 * migrations. server/test/store/statement-kinds.test.ts runs an example of each kind and compares it with pg_locks.
 */
import { ALTER_TABLE_ACTIONS } from './alter-table-actions.ts'
import { type Groups, type Kind, type LockMode, lockTable, type TableLock, type Work } from './table-locks.ts'

export type Statement = {
  readonly sql: string
  /** More than one only in `alter table … , …`. */
  readonly kinds: readonly string[]
  readonly locks: readonly TableLock[]
  readonly work: Work
  readonly outside: boolean
  readonly breaks: boolean
  readonly groups: readonly Groups[]
}

const none = () => []

/** Tables that the columns of a new table refer to: a foreign key adds a trigger to them. */
function referenced({ definition = '' }: Groups): readonly TableLock[] {
  const tables = Array.from(definition.matchAll(/\breferences (\w+)/gi), ([, table = '']) => table)
  return [...new Set(tables)].map((table) => ({ table, mode: 'SHARE ROW EXCLUSIVE' }))
}

/** The first pattern that matches decides. Names are not quoted and have no schema. */
export const STATEMENT_KINDS: readonly Kind[] = [
  {
    kind: 'create table',
    pattern: /^create table (?:if not exists )?(?<creates>\w+) \((?!.*\binherits\b)(?<definition>.*)$/i,
    locks: referenced,
    work: 'catalogue',
  },
  {
    kind: 'create index concurrently',
    pattern: /^create (?:unique )?index concurrently (?:if not exists )?\w+ on (?<table>\w+) /i,
    locks: lockTable('SHARE UPDATE EXCLUSIVE'),
    work: 'reads',
    outside: true,
  },
  {
    kind: 'create index',
    pattern: /^create (?:unique )?index (?:if not exists )?\w+ on (?<table>\w+) /i,
    locks: lockTable('SHARE'),
    work: 'reads',
  },
  {
    kind: 'drop index concurrently',
    pattern: /^drop index concurrently (?:if exists )?(?<index>\w+)$/i,
    locks: ({ index = '' }) => [{ ofIndex: index, mode: 'SHARE UPDATE EXCLUSIVE' }],
    work: 'catalogue',
    outside: true,
  },
  {
    kind: 'drop index',
    pattern: /^drop index (?:if exists )?(?<index>\w+)$/i,
    locks: ({ index = '' }) => [{ ofIndex: index, mode: 'ACCESS EXCLUSIVE' }],
    work: 'catalogue',
  },
  {
    kind: 'drop table',
    pattern: /^drop table (?:if exists )?(?<table>\w+)$/i,
    locks: ({ table = '' }) => [
      { table, mode: 'ACCESS EXCLUSIVE' },
      { referencedBy: table, constraint: null, mode: 'ACCESS EXCLUSIVE' },
    ],
    work: 'catalogue',
    breaks: true,
  },
  {
    kind: 'create trigger',
    pattern: /^create (?:or replace )?trigger \w+ (?:before|after) .*? on (?<table>\w+) /i,
    locks: lockTable('SHARE ROW EXCLUSIVE'),
    work: 'catalogue',
  },
  {
    kind: 'drop trigger',
    pattern: /^drop trigger (?:if exists )?\w+ on (?<table>\w+)$/i,
    locks: lockTable('ACCESS EXCLUSIVE'),
    work: 'catalogue',
  },
  { kind: 'create function', pattern: /^create (?:or replace )?function \w+/i, locks: none, work: 'catalogue' },
  {
    kind: 'drop function',
    pattern: /^drop function (?:if exists )?\w+/i,
    locks: none,
    work: 'catalogue',
    breaks: true,
  },
  { kind: 'create sequence', pattern: /^create sequence (?:if not exists )?\w+/i, locks: none, work: 'catalogue' },
  {
    kind: 'grant or revoke',
    pattern: /^(?:grant|revoke) \w+ on function .* (?:to|from) \w+$/i,
    locks: none,
    work: 'catalogue',
  },
  { kind: 'insert', pattern: /^insert into (?<table>\w+)\b/i, locks: lockTable('ROW EXCLUSIVE'), work: 'rows' },
  { kind: 'update', pattern: /^update (?<table>\w+)\b/i, locks: lockTable('ROW EXCLUSIVE'), work: 'rows' },
  { kind: 'delete', pattern: /^delete from (?<table>\w+)\b/i, locks: lockTable('ROW EXCLUSIVE'), work: 'rows' },
  { kind: 'set search path', pattern: /^select set_config\('search_path', /i, locks: none, work: 'catalogue' },
  {
    kind: 'create audit partitions',
    pattern: /^select make_audit_partitions\(/i,
    locks: () => ['audit_events', 'audit_seals'].map((table) => ({ table, mode: 'SHARE UPDATE EXCLUSIVE' })),
    work: 'catalogue',
  },
]

const ALTER_TABLE = /^alter table (?<table>\w+) (?<actions>.+)$/i

/** Null: of no known kind. */
export function classifyStatement(sql: string): Statement | null {
  const text = sql.replace(/\s+/g, ' ').trim()
  const { table, actions } = ALTER_TABLE.exec(text)?.groups ?? {}
  const found =
    table === undefined || actions === undefined
      ? [find(STATEMENT_KINDS, text, {})]
      : splitActions(actions).map((action) => find(ALTER_TABLE_ACTIONS, action, { table }))
  const known = found.filter((each) => each !== null)
  if (known.length < found.length) return null
  return {
    sql,
    kinds: known.map(({ kind }) => kind.kind),
    locks: strongest(known.flatMap(({ kind, groups }) => kind.locks(groups))),
    work: known
      .map(({ kind }) => kind.work)
      .reduce((most, work) => (WORK.indexOf(work) > WORK.indexOf(most) ? work : most)),
    outside: known.some(({ kind }) => kind.outside),
    breaks: known.some(({ kind }) => kind.breaks),
    groups: known.map(({ groups }) => groups),
  }
}

const WORK: readonly Work[] = ['catalogue', 'rows', 'reads', 'rewrites']

const MODES: readonly LockMode[] = [
  'ROW EXCLUSIVE',
  'SHARE UPDATE EXCLUSIVE',
  'SHARE',
  'SHARE ROW EXCLUSIVE',
  'ACCESS EXCLUSIVE',
]

function find(kinds: readonly Kind[], text: string, given: Groups): { kind: Kind; groups: Groups } | null {
  for (const kind of kinds) {
    const match = kind.pattern.exec(text)
    if (match) return { kind, groups: { ...given, ...match.groups } }
  }
  return null
}

/** At commas outside parentheses and strings. */
function splitActions(actions: string): readonly string[] {
  const parts = ['']
  let depth = 0
  for (const [token] of actions.matchAll(/'[^']*'|./g)) {
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    if (token === ',' && depth === 0) parts.push('')
    else parts.push(parts.pop() + token)
  }
  return parts.map((part) => part.trim())
}

/** One lock per table: the strongest. */
function strongest(locks: readonly TableLock[]): readonly TableLock[] {
  const byTable = new Map<string, TableLock>()
  for (const each of locks) {
    const { mode, ...target } = each
    const before = byTable.get(JSON.stringify(target))
    if (!before || MODES.indexOf(mode) > MODES.indexOf(before.mode)) byTable.set(JSON.stringify(target), each)
  }
  return [...byTable.values()]
}
