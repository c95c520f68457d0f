/** Bearer credentials of the API and of the management API (RFC 6750). */
import { isScopeName } from '../../core/grants/scope.ts'
import type { RefusalCode } from '../../core/refusal.ts'
import type { Context } from '../../flows/context.ts'
import { checkCredential, type ValidCredential } from '../../flows/grants/check-credential.ts'
import type { ApiRequest } from '../route.ts'

/**
 * Reads the header of section 2.1. Its other two methods are not supported: credentials in forms and URLs end up in
 * logs and histories. The scheme is case-insensitive (RFC 9110, section 11.1).
 */
export function readBearer(request: ApiRequest): string | null {
  return /^Bearer +([^ ].*)$/i.exec(request.header('authorization') ?? '')?.[1] ?? null
}

export type Challenged = { readonly refusal: RefusalCode; readonly wwwAuthenticate: string }

/** The challenge names no error if the request has no credential (section 3.1). */
export function invalidCredential(presented: string | null): Challenged {
  return {
    refusal: 'invalid_credential',
    wwwAuthenticate: presented === null ? 'Bearer' : 'Bearer error="invalid_token"',
  }
}

/** One answer for every credential that is not valid: the reason is not disclosed. */
export async function checkBearer(context: Context, request: ApiRequest): Promise<ValidCredential | Challenged> {
  const presented = readBearer(request)
  const checked = presented === null ? null : await checkCredential(context, presented)
  return checked === null || checked.outcome === 'not_valid' ? invalidCredential(presented) : checked
}

/** Names that are no scopes are left out of the challenge, whose quotes they could end. */
export function insufficientScope(required: readonly string[]): Challenged {
  const names = required.filter(isScopeName).join(' ')
  const scope = names === '' ? '' : `, scope="${names}"`
  return { refusal: 'insufficient_scope', wwwAuthenticate: `Bearer error="insufficient_scope"${scope}` }
}
