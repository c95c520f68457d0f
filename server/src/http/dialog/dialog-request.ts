/** Reader of the dialog's parameters, from a link, a form or a pushed request. docs/interface/dialog.md. */
import type { DialogRequest } from '../../flows/dialog/open.ts'
import type { FormFields } from '../parameters.ts'

/** An empty parameter counts as absent, except `state`, which is echoed as it came. */
export function readDialogRequest(
  applicationId: string,
  parameters: FormFields,
  requestedFrom: string | null,
): DialogRequest {
  const given = (name: string) => parameters.get(name) || null
  return {
    applicationId,
    redirectUri: given('redirect_uri'),
    responseType: given('response_type'),
    scope: given('scope'),
    state: parameters.get('state') ?? null,
    // Empty is not absent here: a client that sends an empty value intended to use PKCE.
    codeChallenge: parameters.get('code_challenge') ?? null,
    codeChallengeMethod: parameters.get('code_challenge_method') ?? null,
    responseMode: given('response_mode'),
    resource: given('resource'),
    requestedFrom,
    proven: false,
  }
}
