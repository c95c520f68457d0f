/** Webhooks of a test's application: an endpoint, its queued deliveries, and the verification by a receiver. */
import { Webhook } from 'standardwebhooks'
import type { Context } from '../../src/flows/context.ts'
import { addEndpoint, readWebhookSecret } from '../../src/flows/webhooks/manage.ts'
import { createWebhookSender } from '../../src/flows/webhooks/send.ts'
import { createOutbound } from '../../src/outbound.ts'
import type { MadeApplication, MadeUser } from './make.ts'
import type { Received } from './network/receiver.ts'
import type { TestService } from './service.ts'

export type MadeEndpoint = { readonly id: string; readonly applicationId: string; secret(): Promise<string> }

export async function makeEndpoint(
  service: TestService,
  url: string,
  given: { application?: MadeApplication; by?: MadeUser; accountId?: string } = {},
): Promise<MadeEndpoint> {
  const { application = service.application, by = service.user, accountId = service.account.id } = given
  const added = await addEndpoint(service.context, by.id, application.id, url)
  if (added.outcome !== 'added') throw new Error(`the endpoint was not added: ${JSON.stringify(added)}`)
  const id = added.endpointId
  return {
    id,
    applicationId: application.id,
    secret: async () => (await readWebhookSecret(service.context, accountId, application.id, id))?.secret ?? '',
  }
}

/** An endpoint with a completed delivery, so that nothing changes while a test compares. */
export async function makeDelivered(
  service: TestService,
  applicationId: string,
  by: MadeUser,
): Promise<{ endpointId: string; deliveryId: string }> {
  const url = `https://hooks.receiver.example/${applicationId}`
  const { id: endpointId } = await makeEndpoint(service, url, { application: { id: applicationId, secret: '' }, by })
  const [row] = await service.database.query<{ id: string }>(
    `insert into webhook_deliveries (endpoint_id, event_id, kind, data, created_at, due_at, delivered_at)
     values ($1, gen_random_uuid(), 'grant.created', '{}', now(), now(), now()) returning id`,
    [endpointId],
  )
  return { endpointId, deliveryId: String(row?.id) }
}

export type QueuedDelivery = {
  id: number
  event_id: string
  kind: string
  data: Record<string, unknown>
  attempts: number
  delivered_at: Date | null
  given_up_at: Date | null
  last_status: number | null
  last_error: string | null
  last_took_ms: number | null
  /** From now, by PostgreSQL's clock. */
  due_in_ms: number
}

/** In the order of insertion. */
export function deliveriesOf({ database }: TestService, endpointId: string): Promise<QueuedDelivery[]> {
  return database.query<QueuedDelivery>(
    `select id::int, event_id, kind, data, attempts, delivered_at, given_up_at, last_status, last_error, last_took_ms,
       (extract(epoch from due_at - now()) * 1000)::int as due_in_ms
     from webhook_deliveries where endpoint_id = $1 order by webhook_deliveries.id`,
    [endpointId],
  )
}

/** A context with a short time limit for receivers. */
export function withShortTimeout(context: Context, timeoutMs = 300): Context {
  return { ...context, outbound: createOutbound({ allowPrivate: true, dnsServers: [], timeoutMs }) }
}

/** One run of the sender, until all lanes are done. */
export async function sendOnce(context: Context): Promise<void> {
  const sender = createWebhookSender(context)
  await sender.run()
  await sender.settled()
}

/** Verifies a delivery as a receiver with this secret does; throws if it would refuse. Uses the test's clock. */
export function verified(
  secret: string,
  { headers, body }: Received,
): { type: string; timestamp: string; data: unknown } {
  const { now } = Date
  Date.now = () => Number(headers['webhook-timestamp']) * 1000
  try {
    return new Webhook(secret).verify(body, { ...headers }) as ReturnType<typeof verified>
  } finally {
    Date.now = now
  }
}
