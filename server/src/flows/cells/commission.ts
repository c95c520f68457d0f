/** Cells on the command line: the first one, further ones, and buckets for large accounts. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CellLink } from '../../cell-link.ts'
import { isSlug } from '../../core/accounts/account.ts'
import { PREFIXES } from '../../core/cells/code-prefix.ts'
import { BUCKETS, type Cell, type CellMap, homeOf, MAX_CELL, shareFor } from '../../core/cells/map.ts'
import {
  assignBuckets,
  assignPrefixes,
  insertCell,
  insertFirstMap,
  insertOwnBucket,
  lockEmptyBuckets,
  nextMapVersion,
  readCellMap,
  readThisCell,
  setThisCell,
} from '../../store/cells/map.ts'
import {
  dropKeysToHome,
  isCopied,
  publishGlobalTables,
  readFilledTables,
  readWalLevel,
  refuseOtherChanges,
  subscribe,
} from '../../store/cells/replication.ts'
import {
  openSession,
  type Postgres,
  type Session,
  type Transaction,
  Unavailable,
} from '../../store/postgres/postgres.ts'
import { done, exists, type Registered, refused } from '../accounts/register.ts'
import { createCells } from './cells.ts'

export type NewCell = Pick<Cell, 'id' | 'name' | 'address'>

function problemOf({ id, name, address }: NewCell): string | null {
  if (!(Number.isInteger(id) && id >= 0 && id <= MAX_CELL)) return `A cell’s number is from 0 to ${MAX_CELL}.`
  if (!/^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/.test(name))
    return 'A cell’s name has lowercase letters, digits and hyphens.'
  if (!/^https?:\/\/[^/?#]+$/.test(address)) return 'A cell’s address is a URL without a path: http://10.0.1.5:8080.'
  return null
}

/** Makes this installation the first and home cell. Nothing changes for its accounts and codes. */
export async function makeFirstCell(db: Postgres, url: string, cell: NewCell): Promise<Registered<{ id: number }>> {
  const problem = problemOf(cell)
  if (problem !== null) return refused(problem)
  return withSession(url, async (session) => {
    const level = await readWalLevel(session)
    if (level !== 'logical') return refused(`PostgreSQL has wal_level = ${level}. Set it to logical and restart it.`)
    const made = await db.transaction(async (tx) => {
      if (!(await insertFirstMap(tx, cell))) return false
      await setThisCell(tx, cell.id)
      return true
    })
    if (!made && (await readThisCell(db)) !== cell.id)
      return exists('The installation has cells already. "latchkey cell list" shows them.')
    await publishGlobalTables(session)
    return done({ id: cell.id })
  })
}

export type AddedCell = { readonly id: number; readonly buckets: number; readonly prefixes: number }

/** `url` and `homeUrl`: the databases of the new cell and, as it reaches it, of the home cell. Repeatable. */
export async function addCell(
  db: Postgres,
  home: string,
  cell: NewCell,
  url: string,
  homeUrl: string,
): Promise<Registered<AddedCell>> {
  const problem = problemOf(cell) ?? (await problemOfPlace(db))
  if (problem !== null) return refused(problem)
  return withSession(url, async (session) => {
    const before = await readThisCell(session)
    if (before !== null && before !== cell.id) return refused(`That database is the one of cell ${before}.`)
    const filled = before === null ? await readFilledTables(session) : []
    if (filled.length > 0) return refused(`That database has rows already: ${filled.join(', ')}.`)
    const added = await db.transaction((tx) => addToMap(tx, cell))
    if (added === null) return exists(`Another cell has the number ${cell.id} or the name ${cell.name}.`)
    await setThisCell(session, cell.id)
    await refuseOtherChanges(session)
    await dropKeysToHome(session)
    await withSession(home, (homeSession) => subscribe(homeSession, session, homeUrl, cell.id))
    return (await waitForCopy(session))
      ? done({ id: cell.id, ...added })
      : refused('The copy of the global tables is not complete yet. Look into the log of PostgreSQL, and try again.')
  })
}

async function problemOfPlace(db: Postgres): Promise<string | null> {
  const map = await readCellMap(db)
  const home = homeOf(map)
  if (!home) return 'The installation has no cells yet. "latchkey cell init" makes the first one.'
  const here = await readThisCell(db)
  return here === home.id ? null : `Cells are added in the home cell: cell ${home.id}, ${home.name}.`
}

/** Its share of the prefixes and of the buckets without accounts, both from the home cell. Null: number or name is taken. */
async function addToMap(tx: Transaction, cell: NewCell): Promise<Omit<AddedCell, 'id'> | null> {
  const version = (await nextMapVersion(tx)) ?? 0
  const before = await readCellMap(tx)
  const known = before.cells.get(cell.id)
  if (known?.name === cell.name && known.address === cell.address) return countShares(before, cell.id)
  if (!(await insertCell(tx, { ...cell, home: false }))) return null
  const home = homeOf(before)?.id ?? cell.id
  const empty = await lockEmptyBuckets(tx, home)
  await assignBuckets(tx, shareFor(empty, BUCKETS, before.cells.size + 1), cell.id, version)
  const ofHome = before.prefixes.filter((each) => each.cell === home).map(({ prefix }) => prefix)
  await assignPrefixes(tx, shareFor(ofHome, PREFIXES, before.cells.size + 1), cell.id)
  return countShares(await readCellMap(tx), cell.id)
}

export function countShares({ buckets, prefixes }: CellMap, id: number): Omit<AddedCell, 'id'> {
  return {
    buckets: [...buckets.values()].filter((cell) => cell === id).length,
    prefixes: prefixes.filter(({ cell }) => cell === id).length,
  }
}

const COPY_MS = 60_000

async function waitForCopy(session: Session): Promise<boolean> {
  const until = performance.now() + COPY_MS
  while (performance.now() < until) {
    if (await isCopied(session)) return true
    await sleep(100)
  }
  return false
}

/** Gives an account that will be large a bucket of its own, before it is created. */
export async function reserveBucket(
  db: Postgres,
  link: CellLink,
  slug: string,
  cell: number,
): Promise<Registered<{ bucket: number }>> {
  const problem = isSlug(slug) ? await problemOfPlace(db) : `No account can have the slug "${slug}".`
  if (problem !== null) return refused(problem)
  const elsewhere = await refusedByOtherCell(db, link, slug)
  if (elsewhere) return elsewhere
  return db.transaction(async (tx) => {
    const version = (await nextMapVersion(tx)) ?? 0
    const map = await readCellMap(tx)
    if (!map.cells.has(cell)) return refused(`There is no cell ${cell}.`)
    const bucket = Math.max(BUCKETS - 1, ...map.buckets.keys()) + 1
    if (!(await insertOwnBucket(tx, { slug, bucket, cell, version })))
      return exists(`The account "${slug}" has a bucket or exists already.`)
    return done({ bucket })
  })
}

/** If the cell in which the account would be without a bucket of its own has it, also a closed one. Null: it has none. */
async function refusedByOtherCell(db: Postgres, link: CellLink, slug: string) {
  const here = (await readThisCell(db)) ?? 0
  const cells = createCells(here, db, link, 0)
  await cells.refresh()
  const cell = cells.cellOfAccount(slug)
  if (!cell || cell.id === here) return null
  const answer = await cells.ask<{ taken: boolean }>(cell.id, 'account', { slug }).catch((error) => {
    if (error instanceof Unavailable) return null
    throw error
  })
  if (answer?.taken) return exists(`The account "${slug}" exists already, in cell ${cell.id}, ${cell.name}.`)
  return answer ? null : refused(`Cell ${cell.id}, which may have the account "${slug}", does not answer.`)
}

async function withSession<T>(url: string, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await openSession(url)
  try {
    return await work(session)
  } finally {
    await session.close()
  }
}
