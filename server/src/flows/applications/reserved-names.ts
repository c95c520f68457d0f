/** Reserved names: names of verified applications, and names that users could confuse with them. */
import { looksLike } from '../../core/applications/name-skeleton.ts'
import { listVouchedNames } from '../../store/applications/applications.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'

/** Applications of one account may have similar names: an account can only impersonate itself. */
export async function isNameTaken(db: Queryable, accountId: string, name: string): Promise<boolean> {
  return (await listVouchedNames(db, accountId)).some((taken) => looksLike(taken, name))
}
