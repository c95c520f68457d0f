/** Which buckets `latchkey cell move` moves. */
import { bucketOfSlug } from '../../secrets/bucket.ts'
import { readAccountBucket, readCellMap, readThisCell } from '../../store/cells/map.ts'
import { listMoves, readFixedBuckets } from '../../store/cells/moves.ts'
import { openSession, type Postgres } from '../../store/postgres/postgres.ts'
import { done, type Registered, refused } from '../accounts/register.ts'
import type { MoveRequest } from './move.ts'

export type WantedBuckets = {
  readonly buckets: readonly number[]
  /** Slug of an account, whose bucket is wanted. */
  readonly account: string | null
  /** So many buckets of the source, those first that a command left half-way. */
  readonly count: number | null
}

/** The numbers of the buckets to move. */
export async function chooseBuckets(
  home: Postgres,
  { to, sourceUrl }: Pick<MoveRequest, 'to' | 'sourceUrl'>,
  { buckets, account, count }: WantedBuckets,
): Promise<Registered<readonly number[]>> {
  const named =
    account === null ? buckets : [...buckets, (await readAccountBucket(home, account)) ?? bucketOfSlug(account)]
  if (named.some((bucket) => !Number.isInteger(bucket))) return refused('A bucket is a number.')
  if (count === null)
    return named.length > 0 ? done(named) : refused('Name buckets, an account, or a number of buckets.')
  if (named.length > 0 || !(count > 0)) return refused('Name buckets or a number of buckets, not both.')
  const source = await openSession(sourceUrl)
  try {
    const [from, fixed, map] = [await readThisCell(source), await readFixedBuckets(source), await readCellMap(home)]
    const begun = (await listMoves(home)).filter((each) => each.source === from && each.target === to)
    const others = [...map.buckets]
      .filter(([bucket, cell]) => cell === from && !fixed.has(bucket))
      .map(([bucket]) => bucket)
    return done(
      [...new Set([...begun.map(({ bucket }) => bucket), ...others.toSorted((a, b) => a - b)])].slice(0, count),
    )
  } finally {
    await source.close()
  }
}
