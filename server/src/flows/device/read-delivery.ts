/** Whether the device of a granted code is connected, for the page on which its user granted it. Reads only. */

import { type DeviceCodeKey, readDeviceCode, type StoredDeviceCode } from '../../store/device/codes.ts'
import { findListedGrant } from '../../store/grants/listed.ts'
import type { SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'

/** False for a code that another user claimed, as for one that nobody has collected. */
export async function readDelivery(
  context: Context,
  accountId: string,
  sessionUser: SessionUser,
  key: DeviceCodeKey,
): Promise<boolean> {
  const found = await readDeviceCode(context.db, key)
  return found?.code.claimedBy === sessionUser.id && isConnected(context, accountId, found.code)
}

/**
 * The credentials were sent, and the grant is live. The code alone does not say so: it is also `used` if its grant was
 * revoked before a poll could collect it.
 */
export async function isConnected(context: Context, accountId: string, code: StoredDeviceCode): Promise<boolean> {
  if (code.status !== 'used' || code.grantId === null) return false
  return (await findListedGrant(context.db, accountId, code.grantId)) !== null
}
