/** Webhooks of an account's applications in the management API. */
import { Refusal } from '../../core/refusal.ts'
import { addEndpoint, readWebhookSecret, removeEndpoint } from '../../flows/webhooks/manage.ts'
import { findEndpoint, listEndpoints, type WebhookEndpoint } from '../../store/webhooks/endpoints.ts'
import { type Body, boolean, nullable, optional, text } from '../schema.ts'
import { readManagedApplication } from './applications.ts'
import { parseBody } from './body.ts'
import { accountEndpoint, type Resource } from './endpoint.ts'
import { listBody, moment, momentField, pageOf } from './paging.ts'
import { notFound, refuse } from './refused.ts'

const url = text('The address, https only.', { format: 'uri', examples: ['https://app.example/webhooks'] })

const webhookBody: Body = {
  name: 'Webhook',
  description: 'An address to which the events of an application are sent.',
  properties: {
    id: text('The id.', { examples: ['whk_k3v9m2x7q4tz'] }),
    url,
    gone: boolean('It answered 410 and receives nothing more.'),
    created_at: momentField('When it was added.'),
  },
}

const createdBody: Body = {
  name: 'CreatedWebhook',
  description: 'A new webhook with the secret that signs its messages.',
  properties: { ...webhookBody.properties, secret: optional(nullable(text('The signing secret, `whsec_…`.'))) },
}

function renderWebhook({ id, url, gone, createdAt }: WebhookEndpoint): Resource {
  return { id, url, gone, created_at: moment(createdAt) }
}

export const listWebhooks = accountEndpoint({
  method: 'GET',
  path: '/manage/1/accounts/{account}/applications/{application}/webhooks',
  scope: 'webhooks:read',
  operation: {
    id: 'listWebhooks',
    tag: 'Webhooks',
    summary: 'List the webhooks of an application',
    description: 'All of them, oldest first.',
    answers: { 200: { description: 'The webhooks.', body: listBody(webhookBody) } },
    refusals: ['not_found'],
  },
  handle: async (asked) => {
    const { id } = await readManagedApplication(asked)
    return pageOf((await listEndpoints(asked.context.db, id)).map(renderWebhook), null)
  },
})

export const createWebhook = accountEndpoint({
  method: 'POST',
  path: '/manage/1/accounts/{account}/applications/{application}/webhooks',
  scope: 'webhooks:write',
  operation: {
    id: 'createWebhook',
    tag: 'Webhooks',
    summary: 'Add a webhook',
    description: 'Public addresses only. The answer contains the secret that signs its messages.',
    json: { url },
    answers: { 201: { description: 'It is added.', body: createdBody } },
    refusals: ['not_found', 'conflict'],
  },
  handle: async (asked) => {
    const { context, request, account, by } = asked
    const { id } = await readManagedApplication(asked)
    const { url: address } = parseBody({ url }, request.json())
    const result = await addEndpoint(context, by, id, address)
    if (result.outcome === 'unfit') {
      const code = result.problem === 'exists' || result.problem === 'too_many' ? 'conflict' : 'invalid_request'
      throw new Refusal(code, `The address cannot be a webhook: ${result.problem.replaceAll('_', ' ')}.`)
    }
    if (result.outcome !== 'added') refuse(result)
    const endpoint = (await findEndpoint(context.db, id, result.endpointId)) ?? notFound('webhook')
    const shown = await readWebhookSecret(context, account.id, id, result.endpointId)
    return { status: 201, resource: renderWebhook(endpoint), secret: { secret: shown?.secret ?? null } }
  },
})

export const deleteWebhook = accountEndpoint({
  method: 'DELETE',
  path: '/manage/1/accounts/{account}/applications/{application}/webhooks/{webhook}',
  scope: 'webhooks:write',
  operation: {
    id: 'deleteWebhook',
    tag: 'Webhooks',
    summary: 'Remove a webhook',
    description: 'Nothing is sent to it any more, not even what is waiting.',
    answers: { 204: { description: 'It is removed.' } },
    refusals: ['not_found'],
  },
  handle: async (asked) => {
    const { id } = await readManagedApplication(asked)
    const result = await removeEndpoint(asked.context, asked.by, id, asked.request.segments.webhook ?? '')
    return result.outcome === 'removed' ? { status: 204 } : refuse(result)
  },
})
