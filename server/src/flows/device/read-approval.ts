/** Facts about a device code for the approval rule (core/grants/approval.ts). */

import type { Application } from '../../core/applications/application.ts'
import type { Unvetted } from '../../core/applications/vetting.ts'
import { type Client, compareOrigin, type Origin } from '../../core/device/origin.ts'
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

export type ReadApproval = { readonly crowded: boolean; readonly origin: Origin; readonly approval: Approval }

/** `scopes`: those to be granted. */
export async function readApproval(
  context: Context,
  db: Queryable,
  code: StoredDeviceCode,
  application: Pick<Application, 'publisher'>,
  scopes: readonly Scope[],
  unvetted: Unvetted | null,
  { authenticatedAt, address, now }: Approver,
): Promise<ReadApproval> {
  const crowded = (await countCrowd(db, code.applicationId, networkOf(code.requestedFrom))) >= CROWD.max
  const origin = compareOrigin(locate(context, code.requestedFrom), locate(context, address))
  const unverified = application.publisher.status === 'unverified'
  const dangerous = scopes.some((scope) => scope.dangerous)
  const facts = { variant: code.variant, dangerous, crowded, origin, unverified, unvetted, authenticatedAt, now }
  return { crowded, origin, approval: approvalOf({ ...facts, freshMs: context.config.freshMs }) }
}

function locate({ geoip }: Context, address: string | null): Client {
  const { country, asn } = geoip.find(address)
  return { address, country, asn }
}
