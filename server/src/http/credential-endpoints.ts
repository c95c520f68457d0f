/** What a credential is and may do. docs/interface.md, "Credentials". */
import { formatScope } from '../core/scope.ts'
import { checkCredential } from '../flows/check-credential.ts'
import type { Answer } from './answer.ts'
import type { Handler, Request } from './routes.ts'

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
      scope: formatScope(checked.scopes),
      variant: checked.variant,
      ...(checked.expiresInSeconds === null ? {} : { expires_in: checked.expiresInSeconds }),
    },
  }
}

/**
 * RFC 6750, section 2.1, and none of the other ways: in a form or an address a credential ends up in logs and histories. The
 * name of the scheme is case-insensitive (RFC 9110, section 11.1).
 */
function readBearer(request: Request): string | null {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(request.header('authorization') ?? '')?.[1] ?? null
}
