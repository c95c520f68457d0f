/** Authentication with a management key. PostgreSQL is asked for every request: a revoked key ends at once everywhere. */
import { byManagementKey } from '../../core/audit/actor.ts'
import { allows, type ManagementScope } from '../../core/manage/key.ts'
import { networkOf } from '../../core/network.ts'
import { digestManagementKey, digestsOfManagementKey } from '../../secrets/manage/key.ts'
import { type Account, findAccount, readAccount } from '../../store/accounts/accounts.ts'
import { recordEvent } from '../../store/audit/events.ts'
import {
  addUsedNetwork,
  findManagementKey,
  type ManagementKey,
  markManagementKeyUsed,
  markNetworkMailed,
} from '../../store/manage/keys.ts'
import { type Caller, isCommandLine } from '../accounts/administrator.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'
import type { Context } from '../context.ts'
import { hasOperators } from '../operator/operator.ts'

export type Authentication =
  | { readonly outcome: 'accepted'; readonly caller: Caller }
  | { readonly outcome: 'not_valid' | 'insufficient_scope' }

/** `text`: null if the request has none. `address`: null if it cannot be determined. */
export async function authenticateKey(
  context: Context,
  text: string | null,
  needed: ManagementScope,
  address: string | null,
): Promise<Authentication> {
  const { keys } = context.config
  const network = networkOf(address)
  const digests = text === null ? [] : digestsOfManagementKey(keys, text)
  const found = digests.length === 0 ? null : await findManagementKey(context.db, digests, address, network)
  if (!found || (await isOfOperators(context, found))) {
    countRefusedKey(context, null, address, 'unknown')
    return { outcome: 'not_valid' }
  }
  const { keyId, usedLately, replaced, fromItsNetworks, newNetwork, ...key } = found
  const problem = replaced ? 'replaced' : key.state !== 'live' ? key.state : fromItsNetworks ? null : 'network'
  if (problem !== null) {
    countRefusedKey(context, key, address, problem)
    return { outcome: 'not_valid' }
  }
  if (!usedLately || keyId !== keys.signing.id)
    await markManagementKeyUsed(context.db, key.id, network, digests, digestManagementKey(keys, text ?? ''))
  if (newNetwork && network !== null) await noteNetwork(context, key, network)
  const { id, accountId, scopes } = key
  if (allows(scopes, needed)) return { outcome: 'accepted', caller: { actor: byManagementKey(id), accountId, scopes } }
  countRefusedKey(context, key, address, needed)
  return { outcome: 'insufficient_scope' }
}

/**
 * A request that a key may not make, or a text that is no key, counted for the audit log. `account`: it reaches no such
 * account. A scope: it lacks it.
 */
export function countRefusedKey(
  context: Pick<Context, 'refusals'>,
  key: Pick<ManagementKey, 'id' | 'accountId'> | null,
  address: string | null,
  reason: 'unknown' | 'replaced' | 'expired' | 'revoked' | 'network' | 'account' | ManagementScope,
): void {
  context.refusals.count({
    kind: 'management_key.refused',
    accountId: key?.accountId ?? null,
    subject: key?.id ?? '',
    network: networkOf(address),
    userId: null,
    reason,
  })
}

/** The first use of a key may be anywhere; each day, its owners are told of one further network. */
async function noteNetwork(
  context: Pick<Context, 'db' | 'config'>,
  { id, accountId, label }: ManagementKey,
  network: string,
): Promise<void> {
  await context.db.transaction(async (tx) => {
    const known = await addUsedNetwork(tx, id, network)
    if (known === null) return
    const detail = { managementKey: id, network }
    await recordEvent(tx, {
      kind: 'management_key.network_added',
      actor: byManagementKey(id),
      ...(accountId === null ? {} : { accountId }),
      detail,
    })
    if (known === 1 || !(await markNetworkMailed(tx, id))) return
    const { operatorAccount } = context.config
    const owner = accountId ?? (operatorAccount === null ? null : (await findAccount(tx, operatorAccount))?.id)
    const about = { key: id, label, network, ofService: accountId === null }
    if (owner) await notifyAdministrators(tx, owner, { kind: 'key_network', detail: about })
  })
}

/** The account of a key may have become the operators' account after the key was made. */
async function isOfOperators(context: Pick<Context, 'db' | 'config'>, { accountId }: ManagementKey): Promise<boolean> {
  const account = accountId === null ? null : await readAccount(context.db, accountId)
  return account !== null && hasOperators(context.config, account)
}

/**
 * The account that a request names by id or slug. Null if there is none or the caller does not reach it, as no key
 * reaches the operators' account: indistinguishable.
 */
export async function findManagedAccount(
  context: Pick<Context, 'db' | 'config'>,
  caller: Caller,
  name: string,
): Promise<Account | null> {
  const account = await (name.startsWith('acc_') ? readAccount(context.db, name) : findAccount(context.db, name))
  if (!account || (hasOperators(context.config, account) && !isCommandLine(caller))) return null
  return caller.accountId === null || caller.accountId === account.id ? account : null
}
