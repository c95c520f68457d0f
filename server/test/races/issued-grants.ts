/** Grants with credentials issued a moment ago, inserted without a code. */
import { randomUUID } from 'node:crypto'
import type { Context } from '../../src/flows/context.ts'
import type { GrantWithSecret } from '../../src/secrets/credentials.ts'
import { createGrantId, createGrantSecret } from '../../src/secrets/random.ts'
import { insertGrant, lockGrant, markUsed, type NewGrant, saveIssueTime } from '../../src/store/grants/grants.ts'
import { post } from '../rig/device.ts'

export type IssuedGrant = GrantWithSecret & { readonly issuedAt: number }

export function placeIssuedGrant(
  context: Context,
  given: Pick<NewGrant, 'accountId' | 'userId' | 'applicationId' | 'variant'>,
): Promise<IssuedGrant> {
  const [id, secret] = [createGrantId(), createGrantSecret()]
  const from = { deviceCodeId: randomUUID(), dialogId: null, requestedFrom: null, testEndsAt: null }
  const keyId = context.config.keys.signing.id
  return context.db.transaction(async (tx) => {
    await insertGrant(tx, { ...given, ...from, id, secret, keyId, scopes: ['orders:read', 'orders:write'] })
    const locked = await lockGrant(tx, id)
    if (!locked) throw new Error('the grant was not inserted')
    const issuedAt = locked.grant.createdAt
    await saveIssueTime(tx, id, issuedAt)
    // Marked as used today. Otherwise its first use would be saved within a second, and the process would read it again.
    await markUsed(tx, [{ id, generation: 1 }])
    return { ...locked.grant, secret, issuedAt }
  })
}

/** Status of GET /auth/verify for this credential; `scope`: all of it is required. */
export async function askVerify(address: string, credential: string, scope?: string): Promise<number> {
  const query = scope === undefined ? {} : { query: { scope } }
  const headers = { authorization: `Bearer ${credential}` }
  return (await post(address, '/auth/verify', { method: 'GET', headers, ...query })).status
}
