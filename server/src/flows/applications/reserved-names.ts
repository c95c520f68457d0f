/** Names that are taken: of applications that somebody vouches for, as far as people could confuse them. */
import { looksLike } from '../../core/applications/name-skeleton.ts'
import { listVouchedNames } from '../../store/applications/applications.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'

/** Within an account names may resemble each other: whoever is fooled there is fooled by themselves. */
export async function isNameTaken(db: Queryable, accountId: string, name: string): Promise<boolean> {
  return (await listVouchedNames(db, accountId)).some((taken) => looksLike(taken, name))
}
