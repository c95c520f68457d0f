/**
 * Moves buckets of accounts to another cell while requests are served. docs/decisions/0061-moving-a-bucket.md.
 *
 * Each step can be repeated, and a command that was interrupted is run again: it goes on where the databases say.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import { homeOf } from '../../core/cells/map.ts'
import { readAppliedRevocation, readLastRevocation } from '../../store/applications/revocations.ts'
import { recordEvent } from '../../store/audit/events.ts'
import {
  copyRows,
  countRows,
  deleteMissing,
  deleteRows,
  readChanges,
  readHorizon,
  receiveChanges,
} from '../../store/cells/copy.ts'
import { nextMapVersion, readCellMap, readMapVersion, readThisCell } from '../../store/cells/map.ts'
import {
  announceBucket,
  type BucketMove,
  countOpenDialogs,
  deleteMove,
  fenceTables,
  freezeBucket,
  insertMove,
  listMoves,
  lockMoves,
  markArrived,
  markArriving,
  markMoved,
  readFixedBuckets,
  readHandedCodes,
  receiveCodes,
  recordAccountsMoved,
  saveBucket,
  thawBucket,
} from '../../store/cells/moves.ts'
import { MOVING } from '../../store/cells/moving-tables.ts'
import { readAppliedMigrations } from '../../store/postgres/migrate.ts'
import { inTransaction, openSession, type Postgres, type Session, Unavailable } from '../../store/postgres/postgres.ts'
import { done, type Registered, refused } from '../accounts/register.ts'

export type MoveRequest = {
  /** All in one cell. */
  readonly buckets: readonly number[]
  readonly to: number
  /** Databases of the source and the target, whose tables the role owns. */
  readonly sourceUrl: string
  readonly targetUrl: string
  readonly dialogCodeLifetimeMs: number
}

export type MovedBucket = {
  readonly bucket: number
  /** Null: a command that was interrupted had copied them. */
  readonly rows: number | null
  /** How long changes of the bucket were refused in the source, until the map named the target. */
  readonly frozenMs: number
}

type Sides = { readonly home: Postgres; readonly source: Session; readonly target: Session }

/** Time for processes and HAProxy to read the new map. After it the source gets no requests: its rows are deleted. */
const MAP_PROPAGATION_MS = 3_000

const COPIES_MS = 60_000

export async function moveBuckets(home: Postgres, request: MoveRequest): Promise<Registered<readonly MovedBucket[]>> {
  const source = await openSession(request.sourceUrl)
  const target = await openSession(request.targetUrl).catch(async (error) => {
    await source.close()
    throw error
  })
  try {
    if (!(await lockMoves(source)))
      return refused('Another "latchkey cell move" moves buckets of the same cell. Run this one when it has ended.')
    return await move({ home, source, target }, request)
  } finally {
    await Promise.all([source.close(), target.close()])
  }
}

async function move(sides: Sides, request: MoveRequest): Promise<Registered<readonly MovedBucket[]>> {
  const { home, source, target } = sides
  const from = await readThisCell(source)
  const problem = await problemOf(sides, request, from)
  if (problem !== null || from === null) return refused(problem ?? 'The source is no cell.')
  const map = await readCellMap(home)
  const begun = await listMoves(home)
  const moves: BucketMove[] = []
  for (const bucket of new Set(request.buckets)) {
    const known = begun.find((each) => each.bucket === bucket)
    if (!known && map.buckets.get(bucket) === request.to) continue
    const each = { bucket, source: from, target: request.to }
    await begin(home, each)
    moves.push(each)
  }
  for (const session of [source, target]) {
    await session.query("set latchkey.moving = 'on'")
    for (const each of moves) await insertMove(session, each)
    if (moves.length > 0) await fenceTables(session)
  }
  const moved: MovedBucket[] = []
  for (const each of moves) moved.push(await moveOne(sides, each, request.dialogCodeLifetimeMs))
  if (moves.length > 0) await finish(sides, moves)
  return done(moved)
}

async function problemOf({ home, source, target }: Sides, request: MoveRequest, from: number | null) {
  const map = await readCellMap(home)
  const homeCell = homeOf(map)
  if (!homeCell) return 'The installation has no cells yet. "latchkey cell init" makes the first one.'
  if ((await readThisCell(home)) !== homeCell.id)
    return `Buckets are moved in the home cell: cell ${homeCell.id}, ${homeCell.name}.`
  if (!map.cells.has(request.to)) return `There is no cell ${request.to}.`
  const there = await readThisCell(target)
  if (there !== request.to) return `The target database is the one of cell ${there ?? 'none'}, not ${request.to}.`
  const [one, other] = [await readAppliedMigrations(source), await readAppliedMigrations(target)]
  if (one.join() !== other.join()) return 'Source and target have different migrations. Run "latchkey migrate" in both.'
  const begun = await listMoves(home)
  const fixed = await readFixedBuckets(source)
  for (const bucket of request.buckets) {
    const cell = map.buckets.get(bucket)
    if (cell === undefined) return `There is no bucket ${bucket}.`
    const known = begun.find((each) => each.bucket === bucket)
    if (known && (known.target !== request.to || known.source !== from))
      return `Bucket ${bucket} is moving from cell ${known.source} to cell ${known.target}. Run that command again first.`
    if (!known && cell !== request.to && cell !== from)
      return `Bucket ${bucket} is in cell ${cell}, and the source database is the one of cell ${from ?? 'none'}.`
    const slug = fixed.get(bucket)
    if (slug !== undefined && cell === from && cell !== request.to)
      return `Bucket ${bucket} has the account "${slug}", which has operators or registered an application. It stays.`
  }
  return null
}

function begin(home: Postgres, { bucket, source, target }: BucketMove): Promise<void> {
  return home.transaction(async (tx) => {
    const version = (await nextMapVersion(tx)) ?? 0
    if (!(await insertMove(tx, { bucket, source, target }))) return
    await saveBucket(tx, bucket, { cell: source, state: 'moving', version })
    const detail = { bucket, from: source, to: target }
    await recordEvent(tx, { kind: 'bucket.moving', actor: BY_COMMAND_LINE, detail })
  })
}

async function moveOne(sides: Sides, each: BucketMove, dialogCodeLifetimeMs: number): Promise<MovedBucket> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const moved = (await resume(sides, each)) ?? (await copyAndFlip(sides, each, dialogCodeLifetimeMs))
      await copyAfterwards(sides, each)
      return moved
    } catch (error) {
      // Two rows exchanged a unique value, or another transaction had locked a row: try again.
      if (attempt === ATTEMPTS || (error instanceof Unavailable && error.silent)) throw error
    }
  }
}

/** Resumes a move that an earlier command left half-way. Null: the target does not have all rows; they are copied anew. */
async function resume(sides: Sides, each: BucketMove): Promise<MovedBucket | null> {
  const { home, source } = sides
  const { bucket } = each
  const moved = { bucket, rows: null, frozenMs: 0 }
  if ((await readCellMap(home)).buckets.get(bucket) === each.target) return moved
  const marked = (await listMoves(source)).some((known) => known.bucket === bucket && known.moved)
  if (!marked) return null
  await handCodes(sides.target, each, await readHandedCodes(source, each))
  await flip(home, each)
  return moved
}

const ATTEMPTS = 3

/** Copy passes are repeated until one takes less than this, so that the last one, during the freeze, is short. */
const SHORT_MS = 200
const PASSES = 10

/** How long `freezeBucket` waits for running transactions. */
const FREEZE_MS = 500

async function copyAndFlip(sides: Sides, each: BucketMove, dialogCodeLifetimeMs: number): Promise<MovedBucket> {
  const { source, target } = sides
  const { bucket } = each
  const setArriving = (arriving: boolean) => inTransaction(target, (tx) => markArriving(tx, bucket, arriving))
  await setArriving(false)
  await deleteRows(target, bucket)
  for (const end = performance.now() + COPIES_MS; !(await hasRevoked(sides.home, target)); await sleep(SHORT_MS)) {
    if (performance.now() > end) throw new Error('the target has not revoked yet what the home cell revoked')
  }
  let { rows, horizon } = await copyPass(sides, bucket, null)
  for (let pass = 1; pass <= PASSES; pass += 1) {
    const startedAt = performance.now()
    const later = await copyPass(sides, bucket, horizon)
    horizon = later.horizon
    rows += later.rows
    if (performance.now() - startedAt < SHORT_MS) break
  }
  const until = performance.now() + 2 * dialogCodeLifetimeMs
  for (;;) {
    await setArriving(true)
    const frozenAt = performance.now()
    if (await freezeBucket(source, bucket, FREEZE_MS)) {
      try {
        if (await isReady(sides, bucket, dialogCodeLifetimeMs)) {
          rows += await copyLast(sides, each, horizon)
          const codes = await inTransaction(source, async (tx) => {
            await announceBucket(tx, bucket)
            return markMoved(tx, each)
          })
          await handCodes(target, each, codes)
          await flip(sides.home, each)
          return { bucket, rows, frozenMs: Math.round(performance.now() - frozenAt) }
        }
      } catch (error) {
        if (!(error instanceof Outdated)) throw error
      } finally {
        await thawBucket(source, bucket)
      }
    }
    await setArriving(false)
    if (performance.now() > until)
      throw new Error(`bucket ${bucket} always has open authorization codes or transactions, or a cell is behind`)
    await sleep(SHORT_MS)
    const later = await copyPass(sides, bucket, horizon)
    horizon = later.horizon
    rows += later.rows
  }
}

/**
 * Whether the last copy can be made. What the home cell has revoked so far, the source has revoked, too, and the target has
 * left it out of its copies: the last copy brings it. What it revokes from now on waits in the target (`markArriving`).
 */
async function isReady({ home, source, target }: Sides, bucket: number, dialogCodeLifetimeMs: number) {
  const [openDialogs, ...revoked] = await Promise.all([
    countOpenDialogs(source, bucket, dialogCodeLifetimeMs),
    hasRevoked(home, source),
    hasRevoked(home, target),
  ])
  return openDialogs === 0 && revoked.every(Boolean)
}

/**
 * Whether a cell has applied every revocation of the home cell (application_revocations). The target must have before
 * the first copy, so that it does not revoke grants made later, and both before the last one (`isReady`).
 */
async function hasRevoked(home: Postgres, cell: Session): Promise<boolean> {
  const last = await readLastRevocation(home)
  return (await readThisCell(cell)) === (await readThisCell(home)) || (await readAppliedRevocation(cell)) >= last
}

/** Rows that changed since `horizon`, and those that are gone. Outside the freeze: other changes go on. */
async function copyPass({ source, target }: Sides, bucket: number, horizon: string | null) {
  let rows = 0
  const next = await inTransaction(source, async (from) => {
    await from.query('set transaction isolation level repeatable read, read only')
    const since = await readHorizon(from)
    // Each statement in the target is a transaction of its own: nobody else reads or changes these rows there.
    const tables = MOVING.filter(({ copied }) => copied === undefined)
    if (horizon === null) {
      for (const table of tables) rows += await copyRows(from, target, table, bucket)
    } else {
      for (const table of tables.toReversed()) await deleteMissing(from, target, table, bucket)
      rows += (await receiveChanges(target, await readChanges(from, tables, bucket, horizon))).written
    }
    return since
  })
  return { rows, horizon: next }
}

/** The target has more rows than the source: some were deleted in the source since the last pass. */
class Outdated extends Error {}

/** Nothing changes in the source meanwhile. The target commits with all rows, or with none of this pass. */
async function copyLast({ source, target }: Sides, each: BucketMove, horizon: string): Promise<number> {
  const { bucket } = each
  return inTransaction(source, async (from) => {
    await from.query('set transaction isolation level repeatable read, read only')
    const fixed = (await readFixedBuckets(from)).get(bucket)
    if (fixed !== undefined) throw new Error(`the account "${fixed}" registered an application meanwhile`)
    return inTransaction(target, async (to) => {
      const tables = MOVING.filter(({ copied }) => copied !== 'afterwards')
      const [changes, before] = await Promise.all([
        readChanges(from, tables, bucket, horizon),
        countRows(to, tables, bucket),
      ])
      const { inserted, written } = await receiveChanges(to, changes)
      // Every row of the source is in the target now, so equal numbers mean equal rows.
      for (const [name, { count }] of changes)
        if (count !== (before.get(name) ?? 0) + (inserted.get(name) ?? 0)) throw new Outdated()
      await announceBucket(to, bucket)
      return written
    })
  })
}

/** Hands over the device codes of the bucket: from now on the target answers their polls, through the cell that issued them. */
async function handCodes(target: Session, each: BucketMove, codes: readonly string[]): Promise<void> {
  if (codes.length > 0) await inTransaction(target, (tx) => receiveCodes(tx, codes, each))
}

/** The commit of the move: from now on the target has the bucket. */
function flip(home: Postgres, { bucket, target }: BucketMove): Promise<void> {
  return home.transaction(async (tx) => {
    const version = (await nextMapVersion(tx)) ?? 0
    await saveBucket(tx, bucket, { cell: target, state: 'moving', version })
  })
}

/** What no decision waits for: failed attempts, and mails. Once, also if the command is run again. */
async function copyAfterwards({ source, target }: Sides, { bucket }: BucketMove): Promise<void> {
  const tables = MOVING.filter(({ copied }) => copied === 'afterwards')
  await inTransaction(source, (from) =>
    inTransaction(target, async (to) => {
      if (!(await markArrived(to, bucket))) return
      for (const table of tables) await copyRows(from, to, table, bucket)
    }),
  )
}

/** When source and target have the new map: events in both logs, the source's rows are deleted, the move is over. */
async function finish({ home, source, target }: Sides, moves: readonly BucketMove[]): Promise<void> {
  const version = (await readMapVersion(home)) ?? 0
  const until = performance.now() + COPIES_MS
  for (const session of [source, target]) {
    while (((await readMapVersion(session)) ?? 0) < version) {
      if (performance.now() > until)
        throw new Unavailable('a cell did not get the new map. Its copy is replicated from the home cell; run again')
      await sleep(20)
    }
  }
  const versions = await readVersions(home)
  for (const each of moves) {
    const about = { ...each, version: versions.get(each.bucket) ?? version }
    for (const session of [source, target]) await inTransaction(session, (tx) => recordAccountsMoved(tx, about))
  }
  await sleep(MAP_PROPAGATION_MS)
  const homeCell = await readThisCell(home)
  for (const each of moves) {
    await deleteRows(source, each.bucket)
    // The home cell's row goes last: until then the command can be run again.
    if (each.source !== homeCell) await deleteMove(source, each.bucket)
    if (each.target !== homeCell) await deleteMove(target, each.bucket)
    await home.transaction(async (tx) => {
      const next = (await nextMapVersion(tx)) ?? 0
      await saveBucket(tx, each.bucket, { cell: each.target, state: 'settled', version: next })
      await deleteMove(tx, each.bucket)
      const detail = { bucket: each.bucket, from: each.source, to: each.target }
      await recordEvent(tx, { kind: 'bucket.moved', actor: BY_COMMAND_LINE, detail })
    })
  }
}

async function readVersions(home: Postgres): Promise<ReadonlyMap<number, number>> {
  const { rows } = await home.query<{ bucket: number; version: number }>(
    "select bucket, version from bucket_map where state = 'moving'",
  )
  return new Map(rows.map(({ bucket, version }) => [bucket, version]))
}
