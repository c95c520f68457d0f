/** Verifies credentials through HAProxy, as a resource server does. */
import { post } from '../../rig/device.ts'
import { each } from './deliveries.ts'
import type { Harness } from './harness.ts'

export const VERIFIED = 200

const AT_ONCE = 32

export async function verify({ address }: Pick<Harness, 'address'>, credential: string): Promise<number> {
  const headers = { authorization: `Bearer ${credential}` }
  return (await post(address, '/auth/verify', { method: 'GET', headers })).status
}

/** Returns how many are refused. */
export async function verifyAll(harness: Harness, credentials: readonly string[]): Promise<number> {
  const statuses = await each(credentials, (credential) => verify(harness, credential), AT_ONCE)
  return statuses.filter((status) => status !== VERIFIED).length
}
