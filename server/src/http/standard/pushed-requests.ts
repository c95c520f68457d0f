/** POST /oauth/par (RFC 9126): takes the dialog's parameters server to server; the browser carries only a reference. */
import { Refusal } from '../../core/refusal.ts'
import { openDialog, PUSHED_LIFETIME_MS, pushedReference } from '../../flows/dialog/open.ts'
import { readDialogRequest } from '../dialog/dialog-request.ts'
import type { Handler } from '../route.ts'
import { tooBusy, tooManyRequests } from '../too-much.ts'
import { readClient } from './client.ts'
import { UNKNOWN_CLIENT } from './token-endpoint.ts'

export const pushRequest: Handler = async (context, request) => {
  const { client, parameters } = readClient(request)
  if (!context.applications.authenticate(client.applicationId, client.secret)) return UNKNOWN_CLIENT
  if (parameters.has('request_uri')) throw new Refusal('invalid_request', 'A request_uri cannot be pushed.')
  const result = await openDialog(context, readDialogRequest(client.applicationId, parameters, request.address()))
  switch (result.outcome) {
    case 'opened': {
      const request_uri = pushedReference(context, result.dialogId, client.applicationId)
      return { status: 201, fields: { request_uri, expires_in: PUSHED_LIFETIME_MS / 1000 } }
    }
    case 'too_many_requests':
      return tooManyRequests(result.waitMs)
    case 'shed':
      return tooBusy()
    case 'refused':
      return { refusal: result.error, message: result.reason }
    case 'suspended':
      return { refusal: 'application_suspended' }
    case 'state_not_echoable':
      throw new Refusal('invalid_request', 'The state is longer than 1024 bytes or has control characters.')
    default:
      throw new Refusal('invalid_request', 'The redirect_uri is not registered for this application.')
  }
}
