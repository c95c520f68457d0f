/** What a credential is and may do, for whoever is shown one. docs/interface.md, "Check a credential". */
import { formatScope, parseScope } from '../../core/grants/scope.ts'
import { checkCredential } from '../../flows/grants/check-credential.ts'
import { reportCredential } from '../../flows/grants/revoke-credential.ts'
import type { Answer } from '../answer.ts'
import { required } from '../parameters.ts'
import type { ApiRequest, Handler } from '../route.ts'

/** One answer for everything that is not a living credential: which of the reasons it is, is nobody's business. */
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
 * For a gateway that asks before it lets a request through (nginx calls it auth_request, others forward auth): the answer is in
 * the status and the headers. With `scope`, all of it has to be carried.
 */
export const verify: Handler = async (context, request) => {
  const credential = readBearer(request)
  if (credential === null) return INVALID_CREDENTIAL
  const checked = await checkCredential(context, credential)
  if (checked.outcome === 'not_valid') return INVALID_CREDENTIAL
  const wanted = parseScope((await request.parameters()).get('scope') ?? '')
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

/** For whoever found a credential where it should not be. To have it is to prove it. */
export const report: Handler = async (context, request) => {
  const credential = required(await request.parameters(), 'credential')
  return { status: 200, fields: { revoked: await reportCredential(context, credential) } }
}

/**
 * RFC 6750, section 2.1, and none of the other ways: in a form or an address a credential ends up in logs and histories. The
 * name of the scheme is case-insensitive (RFC 9110, section 11.1).
 */
function readBearer(request: ApiRequest): string | null {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(request.header('authorization') ?? '')?.[1] ?? null
}
