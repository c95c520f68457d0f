/** Actions of `alter table`, as kinds of statements (statement-kinds.ts). */
import { type Groups, type Kind, lockForeignKeys, lockTable } from './table-locks.ts'

/** Adds triggers to both tables. */
const lockBoth = ({ table = '', references = '' }: Groups) =>
  [table, references].map((each) => ({ table: each, mode: 'SHARE ROW EXCLUSIVE' }) as const)

const EXCLUSIVE = lockTable('ACCESS EXCLUSIVE')

/** The first pattern that matches decides: those with more to do come first. */
export const ALTER_TABLE_ACTIONS: readonly Kind[] = [
  {
    kind: 'add column, unique',
    pattern: /^add column (?:if not exists )?(?<column>\w+) .*\b(?:unique|primary key)\b/i,
    locks: EXCLUSIVE,
    work: 'reads',
  },
  {
    kind: 'add column, generated',
    pattern: /^add column (?:if not exists )?(?<column>\w+) .*\bgenerated\b/i,
    locks: EXCLUSIVE,
    work: 'rewrites',
  },
  {
    kind: 'add column with a check',
    pattern: /^add column (?:if not exists )?(?<column>\w+) .*\bcheck\b/i,
    locks: EXCLUSIVE,
    work: 'reads',
  },
  {
    kind: 'add column with a reference',
    pattern:
      /^add column (?:if not exists )?(?<column>\w+) (?!.*\bdefault\b)(?!.*\bnot null\b).*\breferences (?<references>\w+)/i,
    locks: ({ table = '', references = '' }) => [
      { table, mode: 'ACCESS EXCLUSIVE' },
      { table: references, mode: 'SHARE ROW EXCLUSIVE' },
    ],
    work: 'catalogue',
  },
  {
    kind: 'add column with a constant default',
    pattern:
      /^add column (?:if not exists )?(?<column>\w+) [\w[\] ]+? default (?:'[^']*'(?:::\w+(?:\[\])?)?|-?[\d.]+|true|false|null|now\(\))$/i,
    locks: EXCLUSIVE,
    work: 'catalogue',
  },
  {
    kind: 'add column with a computed default',
    pattern: /^add column (?:if not exists )?(?<column>\w+) .*\bdefault\b/i,
    locks: EXCLUSIVE,
    work: 'rewrites',
  },
  {
    // The previous version inserts rows without it.
    kind: 'add column, not null without a default',
    pattern: /^add column (?:if not exists )?(?<column>\w+) .*\bnot null\b/i,
    locks: EXCLUSIVE,
    work: 'reads',
    breaks: true,
  },
  {
    kind: 'add column',
    pattern: /^add column (?:if not exists )?(?<column>\w+) [\w[\] ]+$/i,
    locks: EXCLUSIVE,
    work: 'catalogue',
  },
  {
    kind: 'add foreign key not valid',
    pattern: /^add constraint (?<constraint>\w+) foreign key .* references (?<references>\w+)\b.* not valid$/i,
    locks: lockBoth,
    work: 'catalogue',
  },
  {
    kind: 'add foreign key',
    pattern: /^add constraint (?<constraint>\w+) foreign key .* references (?<references>\w+)\b/i,
    locks: lockBoth,
    work: 'reads',
  },
  {
    kind: 'add check not valid',
    pattern: /^add constraint (?<constraint>\w+) check \((?<expression>.*)\) not valid$/i,
    locks: EXCLUSIVE,
    work: 'catalogue',
  },
  {
    kind: 'add check',
    pattern: /^add constraint (?<constraint>\w+) check \(.*\)$/i,
    locks: EXCLUSIVE,
    work: 'reads',
  },
  {
    kind: 'add unique using index',
    pattern: /^add constraint (?<constraint>\w+) unique using index \w+$/i,
    locks: EXCLUSIVE,
    work: 'catalogue',
  },
  {
    kind: 'add unique',
    pattern: /^add constraint (?<constraint>\w+) unique \(/i,
    locks: EXCLUSIVE,
    work: 'reads',
  },
  {
    kind: 'validate constraint',
    pattern: /^validate constraint (?<constraint>\w+)$/i,
    locks: lockTable('SHARE UPDATE EXCLUSIVE'),
    work: 'reads',
  },
  {
    kind: 'drop constraint',
    pattern: /^drop constraint (?:if exists )?(?<constraint>\w+)$/i,
    locks: ({ table = '', constraint = '' }) => [
      { table, mode: 'ACCESS EXCLUSIVE' },
      { referencedBy: table, constraint, mode: 'ACCESS EXCLUSIVE' },
    ],
    work: 'catalogue',
  },
  {
    // Only the catalogue, if a validated check says that the column is not null.
    kind: 'set not null',
    pattern: /^alter column (?<column>\w+) set not null$/i,
    locks: EXCLUSIVE,
    work: 'reads',
  },
  {
    kind: 'drop not null',
    pattern: /^alter column (?<column>\w+) drop not null$/i,
    locks: EXCLUSIVE,
    work: 'catalogue',
  },
  {
    kind: 'set default',
    pattern: /^alter column (?<column>\w+) (?:set default .+|drop default)$/i,
    locks: EXCLUSIVE,
    work: 'catalogue',
  },
  {
    kind: 'change type',
    pattern: /^alter column (?<column>\w+) (?:set data )?type /i,
    locks: lockForeignKeys,
    work: 'rewrites',
    breaks: true,
  },
  {
    kind: 'drop column',
    pattern: /^drop column (?:if exists )?(?<column>\w+)$/i,
    locks: lockForeignKeys,
    work: 'catalogue',
    breaks: true,
  },
  { kind: 'rename', pattern: /^rename /i, locks: EXCLUSIVE, work: 'catalogue', breaks: true },
  {
    kind: 'set storage parameters',
    pattern: /^set \([\w =,.]+\)$/i,
    locks: lockTable('SHARE UPDATE EXCLUSIVE'),
    work: 'catalogue',
  },
]
