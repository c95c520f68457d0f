/** Webhooks of an account's own applications: endpoints, signing secrets, deliveries. */
import { type EndpointProblem, isDeliveryId, MAX_ENDPOINTS, WEBHOOK_TEST } from '../../core/webhooks/webhook.ts'
import { createId } from '../../secrets/random.ts'
import { webhookSecret } from '../../secrets/webhook-secret.ts'
import { readOwnApplication } from '../../store/applications/own.ts'
import { type AuditEvent, recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { type DeliveryLine, insertTest, listDeliveries, resendDelivery } from '../../store/webhooks/deliveries.ts'
import {
  disableEndpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  rotateEndpoint,
  type WebhookEndpoint,
} from '../../store/webhooks/endpoints.ts'
import { actorOf, asAdministratorOrKey, type By, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'

export type Webhooks = {
  readonly id: string
  readonly name: string
  readonly endpoints: readonly WebhookEndpoint[]
  readonly deliveries: readonly DeliveryLine[]
}

/** Null if the application is not this account's. */
export async function readWebhooks(context: Context, accountId: string, id: string): Promise<Webhooks | null> {
  const application = await readOwnApplication(context.db, accountId, id)
  if (!application) return null
  const endpoints = await listEndpoints(context.db, id)
  return { id, name: application.name, endpoints, deliveries: await listDeliveries(context.db, id) }
}

export type ShownSecret = {
  readonly name: string
  readonly endpoint: WebhookEndpoint
  /** Null if the key that derived it is retired; the secret has to be rotated. */
  readonly secret: string | null
}

export async function readWebhookSecret(
  context: Context,
  accountId: string,
  id: string,
  endpointId: string,
): Promise<ShownSecret | null> {
  const application = await readOwnApplication(context.db, accountId, id)
  const endpoint = application && (await findEndpoint(context.db, id, endpointId))
  if (!endpoint) return null
  return { name: application.name, endpoint, secret: webhookSecret(context.config.keys, { ...endpoint, endpointId }) }
}

export type EndpointAddition =
  | { readonly outcome: 'added'; readonly endpointId: string }
  | { readonly outcome: 'unfit'; readonly problem: EndpointProblem }
  | { readonly outcome: 'not_found' }
  | Forbidden

/** Stores the URL as normalized by `URL`, so that the stored spelling is the one that was checked. */
export function addEndpoint(context: Context, by: By, id: string, address: string): Promise<EndpointAddition> {
  return withOwn(context, by, id, async (tx, record): Promise<EndpointAddition> => {
    const unfit = (problem: EndpointProblem) => ({ outcome: 'unfit', problem }) as const
    const problem = context.outbound.problemWith(address)
    if (problem) return unfit(problem)
    const url = new URL(address).href
    const live = (await listEndpoints(tx, id)).filter(({ gone }) => !gone)
    if (live.some((each) => each.url === url)) return unfit('exists')
    if (live.length >= MAX_ENDPOINTS) return unfit('too_many')
    const endpointId = createId('whk')
    await insertEndpoint(tx, { id: endpointId, applicationId: id, url, keyId: context.config.keys.signing.id })
    await record('webhook.added', { endpoint: endpointId })
    return { outcome: 'added', endpointId }
  })
}

type Change<Done extends string> = { readonly outcome: Done | 'not_found' } | Forbidden

/** Stops all deliveries, including pending ones. */
export function removeEndpoint(context: Context, by: By, id: string, endpointId: string): Promise<Change<'removed'>> {
  return withOwn(context, by, id, async (tx, record): Promise<Change<'removed'>> => {
    if (!(await findEndpoint(tx, id, endpointId))) return { outcome: 'not_found' }
    await disableEndpoint(tx, endpointId, 'removed')
    await record('webhook.removed', { endpoint: endpointId })
    return { outcome: 'removed' }
  })
}

/** Rotates the secret. The previous one signs too for a day, so that the receiver can switch without losing events. */
export function rotateEndpointSecret(
  context: Context,
  by: By,
  id: string,
  endpointId: string,
): Promise<Change<'rotated'>> {
  return withOwn(context, by, id, async (tx, record): Promise<Change<'rotated'>> => {
    if (!(await findEndpoint(tx, id, endpointId))) return { outcome: 'not_found' }
    const generation = await rotateEndpoint(tx, endpointId, context.config.keys.signing.id)
    await record('webhook.secret_rotated', { endpoint: endpointId, generation })
    return { outcome: 'rotated' }
  })
}

/** Queues a test event, unless one is still pending. */
export function testEndpoint(context: Context, by: By, id: string, endpointId: string): Promise<Change<'sent'>> {
  return withOwn(context, by, id, async (tx, record): Promise<Change<'sent'>> => {
    const endpoint = await findEndpoint(tx, id, endpointId)
    if (!endpoint || endpoint.gone) return { outcome: 'not_found' }
    if (await insertTest(tx, endpointId, WEBHOOK_TEST)) await record('webhook.tested', { endpoint: endpointId })
    return { outcome: 'sent' }
  })
}

/** Sends a delivery again at once under the same id, so that the receiver can deduplicate. */
export function resend(context: Context, by: By, id: string, deliveryId: string): Promise<Change<'resent'>> {
  return withOwn(context, by, id, async (tx, record): Promise<Change<'resent'>> => {
    if (!isDeliveryId(deliveryId) || !(await resendDelivery(tx, id, Number(deliveryId))))
      return { outcome: 'not_found' }
    await record('webhook.resent', { delivery: Number(deliveryId) })
    return { outcome: 'resent' }
  })
}

type Recording = (kind: AuditEvent['kind'], detail: AuditEvent['detail'] & object) => Promise<void>

/** Runs `work` for an administrator of the owning account. For all others the application does not exist. */
function withOwn<T>(
  context: Context,
  by: By,
  id: string,
  work: (tx: Transaction, record: Recording) => Promise<T>,
): Promise<T | { readonly outcome: 'not_found' } | Forbidden> {
  return asAdministratorOrKey(context, by, async (tx, account) => {
    if (!(await readOwnApplication(tx, account.id, id))) return { outcome: 'not_found' }
    const about = { actor: actorOf(by), accountId: account.id, applicationId: id }
    return work(tx, (kind, detail) => recordEvent(tx, { kind, ...about, detail }))
  })
}
