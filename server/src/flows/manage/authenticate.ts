/** Authentication with a management key. PostgreSQL is asked for every request: a revoked key ends at once everywhere. */
import { allows, type ManagementScope } from '../../core/manage/key.ts'
import { digestManagementKey, digestsOfManagementKey } from '../../secrets/manage/key.ts'
import { type Account, findAccount, readAccount } from '../../store/accounts/accounts.ts'
import { findLiveManagementKey, type ManagementKey, markManagementKeyUsed } from '../../store/manage/keys.ts'
import type { Context } from '../context.ts'
import { hasOperators } from './keys.ts'

export type Authentication =
  | { readonly outcome: 'accepted'; readonly key: ManagementKey }
  | { readonly outcome: 'not_valid' | 'insufficient_scope' }

export async function authenticateKey(
  context: Pick<Context, 'db' | 'config'>,
  text: string,
  needed: ManagementScope,
): Promise<Authentication> {
  const { keys } = context.config
  const digests = digestsOfManagementKey(keys, text)
  if (digests.length === 0) return { outcome: 'not_valid' }
  const found = await findLiveManagementKey(context.db, digests)
  if (!found || (await isOfOperators(context, found))) return { outcome: 'not_valid' }
  const { keyId, usedLately, ...key } = found
  if (!usedLately || keyId !== keys.signing.id)
    await markManagementKeyUsed(context.db, key.id, digests, digestManagementKey(keys, text))
  return allows(key.scopes, needed) ? { outcome: 'accepted', key } : { outcome: 'insufficient_scope' }
}

/** The account of a key may have become the operators' account after the key was made. */
async function isOfOperators(context: Pick<Context, 'db' | 'config'>, { accountId }: ManagementKey): Promise<boolean> {
  const account = accountId === null ? null : await readAccount(context.db, accountId)
  return account !== null && hasOperators(context.config, account)
}

/**
 * The account that a request names by id or slug. Null if there is none, the key does not reach it, or it is the
 * operators' account: indistinguishable.
 */
export async function findManagedAccount(
  context: Pick<Context, 'db' | 'config'>,
  key: Pick<ManagementKey, 'accountId'>,
  name: string,
): Promise<Account | null> {
  const account = await (name.startsWith('acc_') ? readAccount(context.db, name) : findAccount(context.db, name))
  if (!account || hasOperators(context.config, account)) return null
  return key.accountId === null || key.accountId === account.id ? account : null
}
