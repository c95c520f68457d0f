/** What a kind of statement says about its table locks. */

/** Modes that make something else wait. ACCESS SHARE and ROW SHARE, which every query takes, are not listed. */
export type LockMode = 'ROW EXCLUSIVE' | 'SHARE UPDATE EXCLUSIVE' | 'SHARE' | 'SHARE ROW EXCLUSIVE' | 'ACCESS EXCLUSIVE'

/** The name of a table, or of something whose tables only the catalogue knows. */
export type LockedTable =
  | { readonly table: string }
  | { readonly ofIndex: string }
  | { readonly referencedBy: string; readonly constraint: string | null }
  /** The tables at the other end of the column's foreign keys: those it refers to, and those that refer to it. */
  | { readonly foreignKeysOf: string; readonly column: string }

export type TableLock = LockedTable & { readonly mode: LockMode }

/**
 * While it holds its locks: changes the catalogue, reads the whole table, writes the whole table again, or writes the rows
 * that its condition selects.
 */
export type Work = 'catalogue' | 'reads' | 'rewrites' | 'rows'

export type Groups = Readonly<Record<string, string | undefined>>

export type Kind = {
  readonly kind: string
  readonly pattern: RegExp
  locks(groups: Groups): readonly TableLock[]
  readonly work: Work
  /** PostgreSQL refuses it inside a transaction. */
  readonly outside?: true
  /** A version that still uses what it changes or removes fails afterwards. */
  readonly breaks?: true
}

/** A lock on the table that the pattern names `table`. */
export const lockTable =
  (mode: LockMode) =>
  (groups: Groups): readonly TableLock[] => [{ table: groups.table ?? '', mode }]

/** Changes or drops the foreign keys of a column as well. */
export const lockForeignKeys: Kind['locks'] = ({ table = '', column = '' }) => [
  { table, mode: 'ACCESS EXCLUSIVE' },
  { foreignKeysOf: table, column, mode: 'ACCESS EXCLUSIVE' },
]

/** Who waits for the lock while it is held. */
export function blockedBy(mode: LockMode): 'readers and writers' | 'writers' | 'nobody' {
  if (mode === 'ACCESS EXCLUSIVE') return 'readers and writers'
  return mode === 'SHARE' || mode === 'SHARE ROW EXCLUSIVE' ? 'writers' : 'nobody'
}
