/** Where accounts and applications are created in an installation that is divided into cells. */
import { bucketOfSlug } from '../../secrets/bucket.ts'
import { readAccountBucket, readOtherHome, readThisCell, shareBucket } from '../../store/cells/map.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'

/**
 * Bucket of a new account, if its cell is this one; until the end of the transaction it stays so. `elsewhere`: a
 * sentence that names the right cell. A slug has one cell, so no two cells can give it to different accounts.
 */
export async function placeAccount(
  tx: Transaction,
  slug: string,
): Promise<{ readonly bucket: number } | { readonly elsewhere: string }> {
  const here = await readThisCell(tx)
  if (here === null) return { bucket: 0 }
  const bucket = (await readAccountBucket(tx, slug)) ?? bucketOfSlug(slug)
  const cell = await shareBucket(tx, bucket)
  if (cell?.id === here) return { bucket }
  const right = cell ? `in cell ${cell.id}, ${cell.name}` : 'in no cell yet'
  return { elsewhere: `The account "${slug}" belongs ${right}. Create it there.` }
}

/** `what`: the beginning of a sentence. Null: this is the home cell, or the installation is not divided. */
export async function refusedOutsideHome(
  tx: Transaction,
  what: string,
): Promise<{ readonly outcome: 'refused'; readonly reason: string } | null> {
  const home = await readOtherHome(tx)
  return home && { outcome: 'refused', reason: `${what} in the home cell: cell ${home.id}, ${home.name}.` }
}
