/** The dialog's parameters as they come: by a link, by a form, or pushed. docs/interface.md, "The dialog". */
import type { DialogRequest } from '../../flows/dialog/open.ts'
import type { FormFields } from '../parameters.ts'

/** An empty parameter is as good as none, but for `state`: that is echoed as it came. */
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
    // Sent and empty is not the same as absent: somebody meant to send one.
    codeChallenge: parameters.get('code_challenge') ?? null,
    codeChallengeMethod: parameters.get('code_challenge_method') ?? null,
    requestedFrom,
  }
}
