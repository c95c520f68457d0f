/** Endpoints that check a credential, or report a leaked one. docs/interface.md, "Check a credential". */
import { formatScope, parseScope } from '../../core/grants/scope.ts'
import { checkCredential } from '../../flows/grants/check-credential.ts'
import { reportCredential } from '../../flows/grants/revoke-credential.ts'
import type { Answer } from '../answer.ts'
import { required } from '../parameters.ts'
import type { ApiRequest, Handler } from '../route.ts'

/** One answer for every credential that is not valid: the reason is not disclosed. */
const INVALID_CREDENTIAL: Answer = { refusal: 'invalid_credential', wwwAuthenticate: 'Bearer' }

export const me: Handler = async (context, request) => {
  const credential = readBearer(request)
  if (credential === null) return INVALID_CREDENTIAL
  const checked = await checkCredential(context, credential)
  if (checked.outcome === 'not_valid') return INVALID_CREDENTIAL
  return {
    status: 200,
    fields: {
      account: checked.account,
      user: checked.userId,
      application: checked.applicationId,
      grant: checked.grantId,
      scope: formatScope(checked.scopes),
      variant: checked.variant,
      ...(checked.expiresInSeconds === null ? {} : { expires_in: checked.expiresInSeconds }),
    },
  }
}

/**
 * For a gateway that asks before it forwards a request (nginx: auth_request; others: forward auth). The result is in
 * the status and the headers. If `scope` is given, the credential must have all of it.
 */
export const verify: Handler = async (context, request) => {
  const credential = readBearer(request)
  if (credential === null) return INVALID_CREDENTIAL
  const checked = await checkCredential(context, credential)
  if (checked.outcome === 'not_valid') return INVALID_CREDENTIAL
  const wanted = parseScope(request.parameters().get('scope') ?? '')
  if (!wanted.every((name) => checked.scopes.includes(name))) {
    return { refusal: 'insufficient_scope', wwwAuthenticate: 'Bearer error="insufficient_scope"' }
  }
  return {
    status: 200,
    headers: {
      'x-latchkey-account': checked.account,
      'x-latchkey-user': checked.userId,
      'x-latchkey-application': checked.applicationId,
      'x-latchkey-scope': formatScope(checked.scopes),
      'x-latchkey-variant': checked.variant,
    },
  }
}

/** Revokes a credential found where it should not be. Possession is the only proof required. */
export const report: Handler = async (context, request) => {
  const credential = required(request.parameters(), 'credential')
  return { status: 200, fields: { revoked: await reportCredential(context, credential) } }
}

/**
 * Reads the header of RFC 6750, section 2.1. Its other two methods are not supported: credentials in forms and URLs end
 * up in logs and histories. The scheme is case-insensitive (RFC 9110, section 11.1).
 */
function readBearer(request: ApiRequest): string | null {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(request.header('authorization') ?? '')?.[1] ?? null
}
