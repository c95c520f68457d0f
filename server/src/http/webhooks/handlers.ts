/** Developer console: webhook endpoints of an application. For administrators of the account that registered it. */
import { MAX_ENDPOINTS } from '../../core/webhooks/webhook.ts'
import type { Context } from '../../flows/context.ts'
import {
  addEndpoint,
  readWebhookSecret,
  readWebhooks,
  removeEndpoint,
  resend,
  rotateEndpointSecret,
  testEndpoint,
} from '../../flows/webhooks/manage.ts'
import { eventName } from '../../flows/webhooks/send.ts'
import { UNCONNECTED } from '../../outbound.ts'
import type { DeliveryError, DeliveryRow } from '../../pages/webhooks/log.tsx'
import { type WebhookSecretModel, webhookSecretPage } from '../../pages/webhooks/secret.tsx'
import { type WebhooksModel, webhooksPage } from '../../pages/webhooks/webhooks.tsx'
import { type DeliveryLine, MAX_DELIVERIES } from '../../store/webhooks/deliveries.ts'
import type { FormFields } from '../parameters.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'

const NOTICES: readonly WebhooksModel['notice'][] = ['removed', 'tested', 'resent']

export const showWebhooks: PageHandler<UserRequest> = (context, request) => listPage(context, request, null)

export const addWebhook: PageHandler<UserRequest> = async (context, request) => {
  const { sessionUser, fields } = request
  const { id } = named(fields)
  const result = await addEndpoint(context, sessionUser.id, id, typed(fields))
  if (result.outcome === 'unfit') return listPage(context, request, result.problem)
  if (result.outcome !== 'added') return { refusal: result.outcome }
  return { seeOther: secretAddress(id, result.endpointId, 'added') }
}

export const removeWebhook: PageHandler<UserRequest> = async (context, { sessionUser, fields }) => {
  const { id, endpoint } = named(fields)
  const { outcome } = await removeEndpoint(context, sessionUser.id, id, endpoint)
  return outcome === 'removed' ? { seeOther: listAddress(id, 'removed') } : { refusal: outcome }
}

export const rotateWebhook: PageHandler<UserRequest> = async (context, { sessionUser, fields }) => {
  const { id, endpoint } = named(fields)
  const { outcome } = await rotateEndpointSecret(context, sessionUser.id, id, endpoint)
  return outcome === 'rotated' ? { seeOther: secretAddress(id, endpoint, 'rotated') } : { refusal: outcome }
}

export const testWebhook: PageHandler<UserRequest> = async (context, { sessionUser, fields }) => {
  const { id, endpoint } = named(fields)
  const { outcome } = await testEndpoint(context, sessionUser.id, id, endpoint)
  return outcome === 'sent' ? { seeOther: listAddress(id, 'tested') } : { refusal: outcome }
}

export const resendWebhook: PageHandler<UserRequest> = async (context, { sessionUser, fields }) => {
  const { id } = named(fields)
  const { outcome } = await resend(context, sessionUser.id, id, fields.get('delivery') ?? '')
  return outcome === 'resent' ? { seeOther: listAddress(id, 'resent') } : { refusal: outcome }
}

const SECRET_NOTICES: readonly WebhookSecretModel['notice'][] = ['added', 'rotated']

export const showWebhookSecret: PageHandler<UserRequest> = async (context, { account, fields, frame }) => {
  const { id, endpoint } = named(fields)
  const shown = await readWebhookSecret(context, account.id, id, endpoint)
  if (!shown) return { refusal: 'not_found' }
  const { name, secret } = shown
  const notice = SECRET_NOTICES.find((each) => each === fields.get('notice')) ?? null
  return { page: webhookSecretPage(frame, { id, name, url: shown.endpoint.url, secret, notice }) }
}

/** Ids from the form or the query. */
function named(fields: FormFields): { readonly id: string; readonly endpoint: string } {
  return { id: fields.get('application') ?? '', endpoint: fields.get('endpoint') ?? '' }
}

function typed(fields: FormFields): string {
  return (fields.get('url') ?? '').trim().slice(0, 4_000)
}

function listAddress(id: string, notice: string): string {
  return `/developer/application/webhooks?application=${id}&notice=${notice}`
}

function secretAddress(id: string, endpoint: string, notice: string): string {
  return `/developer/application/webhooks/secret?application=${id}&endpoint=${endpoint}&notice=${notice}`
}

/** How long the previous secret still signs along with the new one. */
const BOTH_MS = 24 * 60 * 60 * 1000

async function listPage(
  context: Context,
  { account, fields, frame }: UserRequest,
  problem: WebhooksModel['problem'],
): Promise<PageAnswer> {
  const webhooks = await readWebhooks(context, account.id, named(fields).id)
  if (!webhooks) return { refusal: 'not_found' }
  const { id, name } = webhooks
  const model: WebhooksModel = {
    id,
    name,
    endpoints: webhooks.endpoints.map(({ createdAt, rotatedAt, ...endpoint }) => {
      return { ...endpoint, createdOn: createdAt, bothUntil: rotatedAt === null ? null : rotatedAt + BOTH_MS }
    }),
    maxEndpoints: MAX_ENDPOINTS,
    deliveries: webhooks.deliveries.map(rowOf),
    maxDeliveries: MAX_DELIVERIES,
    url: problem === null ? '' : typed(fields),
    notice: NOTICES.find((each) => each === fields.get('notice')) ?? null,
    problem,
  }
  return { page: webhooksPage(frame, model), status: problem === null ? 200 : 400 }
}

function rowOf(line: DeliveryLine): DeliveryRow {
  const { triedAt, lastTookMs, lastStatus } = line
  const status = statusOf(line)
  return {
    id: String(line.id),
    eventId: eventName(line.eventId),
    kind: line.kind,
    url: line.url,
    happenedAt: line.createdAt,
    attempts: line.attempts,
    status,
    last: triedAt === null ? null : { tookMs: lastTookMs ?? 0, answer: lastStatus ?? errorOf(line) },
    nextAt: status === 'waiting' ? line.dueAt : null,
  }
}

function statusOf({ deliveredAt, givenUpAt, off }: DeliveryLine): DeliveryRow['status'] {
  if (deliveredAt !== null) return 'delivered'
  if (givenUpAt !== null) return 'given_up'
  return off ? 'off' : 'waiting'
}

const ERRORS: readonly DeliveryError[] = ['unreachable', 'timeout', 'tls', 'broken', 'key_retired']

/** All of them are shown to developers as `unreachable`; operators find the exact error in webhook_deliveries. */
const NOT_CONNECTED: readonly (string | null)[] = UNCONNECTED

/** Other errors, such as a URL that was valid when it was added and no longer is, have no text of their own. */
function errorOf({ lastError }: DeliveryLine): DeliveryError {
  if (NOT_CONNECTED.includes(lastError)) return 'unreachable'
  return ERRORS.find((each) => each === lastError) ?? 'other'
}
