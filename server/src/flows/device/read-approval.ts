/** Facts about a device code for the approval rule (core/grants/approval.ts). */

import { type Approval, approvalOf } from '../../core/grants/approval.ts'
import { networkOf } from '../../core/network.ts'
import { CROWD } from '../../core/sign-in/attempts.ts'
import type { Scope } from '../../store/applications/scopes.ts'
import type { StoredDeviceCode } from '../../store/device/codes.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import { countCrowd } from '../../store/sign-in/attempts.ts'
import type { Context } from '../context.ts'

/** The user who decides: when they last authenticated, their address, and the time of the request. */
export type Approver = { readonly authenticatedAt: number; readonly address: string | null; readonly now: number }

export type ReadApproval = { readonly crowded: boolean; readonly elsewhere: boolean; readonly approval: Approval }

/** `scopes`: those to be granted. */
export async function readApproval(
  context: Context,
  db: Queryable,
  code: StoredDeviceCode,
  scopes: readonly Scope[],
  { authenticatedAt, address, now }: Approver,
): Promise<ReadApproval> {
  const crowded = (await countCrowd(db, code.applicationId, networkOf(code.requestedFrom))) >= CROWD.max
  const elsewhere = isElsewhere(context, code.requestedFrom, address)
  const dangerous = scopes.some((scope) => scope.dangerous)
  const facts = { variant: code.variant, dangerous, crowded, elsewhere, authenticatedAt, now }
  return { crowded, elsewhere, approval: approvalOf({ ...facts, freshMs: context.config.freshMs }) }
}

/** True only if both countries are known: guessing would alarm half of all honest users. */
function isElsewhere(context: Context, requestedFrom: string | null, address: string | null): boolean {
  const [asked, here] = [requestedFrom, address].map((each) => context.geoip.find(each).country)
  return asked != null && here != null && asked !== here
}
