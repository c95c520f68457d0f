/**
 * Webhook sender: leases due deliveries from the outbox, sends and marks them. If the process dies in between, another
 * one sends the delivery again under the same id. A slow receiver cannot delay others: each lane serves one endpoint,
 * and lanes are limited per endpoint, per account and for slow endpoints.
 */
import { byService } from '../../core/audit/actor.ts'
import { isDelivered, isGone, retryDelayAfter } from '../../core/webhooks/webhook.ts'
import type { Posted } from '../../outbound.ts'
import { webhookHeaders, webhookSecret } from '../../secrets/webhook-secret.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { Unavailable } from '../../store/postgres/postgres.ts'
import {
  type DueDelivery,
  type DueEndpoint,
  findDueEndpoints,
  markDelivered,
  markFailed,
  takeDueDelivery,
} from '../../store/webhooks/deliveries.ts'
import { disableEndpoint, markSlow } from '../../store/webhooks/endpoints.ts'
import type { Context } from '../context.ts'

/** Concurrent lanes per process. Each holds a connection to a receiver, but none to PostgreSQL while it waits. */
const MAX_LANES = 40

/** Lanes for endpoints whose last answer was slow, or that have not answered yet; leaves the rest to quick ones. */
const MAX_SLOW_LANES = 10
const MAX_PER_ACCOUNT = 10
const MAX_PER_ENDPOINT = 2

/** Answers that take longer are slow. */
const QUICK_MS = 1_000

/** Deliveries per lane before it is freed for another endpoint. */
const MAX_PER_LANE = 50

const STOP_TIMEOUT_MS = 1_000

export type WebhookSender = {
  /** Opens lanes for due endpoints. Does not wait for receivers. */
  run(): Promise<void>
  /** Resolves once no delivery is in progress. */
  settled(): Promise<void>
  /** Starts no more deliveries. Those still running after `STOP_TIMEOUT_MS` are aborted and left to another process. */
  stop(): Promise<void>
}

type Lane = Pick<DueEndpoint, 'id' | 'accountId' | 'slow'>

export function createWebhookSender(context: Context): WebhookSender {
  const lanes = new Map<Lane, Promise<void>>()
  const stopping = new AbortController()
  const aborting = new AbortController()

  const hasRoom = ({ id, accountId, slow }: Lane): boolean => {
    const running = [...lanes.keys()]
    return (
      running.length < MAX_LANES &&
      !(slow && running.filter((lane) => lane.slow).length >= MAX_SLOW_LANES) &&
      running.filter((lane) => lane.accountId === accountId).length < MAX_PER_ACCOUNT &&
      running.filter((lane) => lane.id === id).length < MAX_PER_ENDPOINT
    )
  }
  const open = ({ id, accountId, slow }: DueEndpoint): void => {
    const lane: Lane = { id, accountId, slow }
    if (stopping.signal.aborted || !hasRoom(lane)) return
    const running = run(context, id, { stop: stopping.signal, abort: aborting.signal })
      .catch((error) => {
        // The delivery is due again when its lease expires.
        if (!(error instanceof Unavailable)) context.events.taskFailed('sending webhooks', error)
      })
      .finally(() => lanes.delete(lane))
    lanes.set(lane, running)
  }
  const settled = async () => {
    while (lanes.size > 0) await Promise.all(lanes.values())
  }

  return {
    run: async () => {
      const due = await findDueEndpoints(context.db, MAX_PER_ENDPOINT)
      // Every endpoint's first lane before any endpoint's second.
      for (let place = 1; place <= MAX_PER_ENDPOINT; place += 1) {
        for (const endpoint of due) if (endpoint.waiting >= place) open(endpoint)
      }
    },
    settled,
    stop: async () => {
      stopping.abort()
      const late = setTimeout(() => aborting.abort(), STOP_TIMEOUT_MS)
      await settled()
      clearTimeout(late)
    },
  }
}

/**
 * Sends the due deliveries of one endpoint in sequence. Stops after two failures in a row or a slow answer, until the
 * next run.
 */
async function run(context: Context, endpointId: string, { stop, abort }: Ending): Promise<void> {
  let failures = 0
  for (let sent = 0; sent < MAX_PER_LANE && failures < 2 && !stop.aborted; sent += 1) {
    const delivery = await takeDueDelivery(context.db, endpointId)
    const outcome = delivery ? await deliver(context, delivery, abort) : 'none'
    if (outcome === 'none' || outcome === 'slow') return
    failures = outcome === 'failed' ? failures + 1 : 0
  }
}

type Ending = { readonly stop: AbortSignal; readonly abort: AbortSignal }

async function deliver(
  context: Context,
  delivery: DueDelivery,
  abort: AbortSignal,
): Promise<'delivered' | 'failed' | 'slow'> {
  const { db } = context
  const posted = await post(context, delivery, abort)
  if (abort.aborted && 'error' in posted) return 'slow'
  const tried = {
    status: 'status' in posted ? posted.status : null,
    error: 'error' in posted ? posted.error : null,
    tookMs: posted.tookMs,
  }
  // Nothing was sent: whether the endpoint is slow remains as it was.
  const slow = posted.tookMs === null ? delivery.slow : posted.tookMs > QUICK_MS
  if (isDelivered(posted)) await markDelivered(db, delivery.id, tried)
  else await markFailed(db, delivery.id, tried, isGone(posted) ? null : retryDelayAfter(delivery.attempts + 1))
  if (slow !== delivery.slow) await markSlow(db, delivery.endpointId, slow)
  if (isGone(posted)) await giveUpEndpoint(context, delivery.endpointId)
  if (slow && posted.tookMs !== null) return 'slow'
  return isDelivered(posted) ? 'delivered' : 'failed'
}

async function post(
  { config, outbound }: Context,
  delivery: DueDelivery,
  abort: AbortSignal,
): Promise<Posted | { readonly error: 'key_retired'; readonly tookMs: null }> {
  const secrets = secretsOf(config.keys, delivery)
  if (secrets.length === 0) return { error: 'key_retired', tookMs: null }
  const { kind: type, data, createdAt, now } = delivery
  const body = JSON.stringify({ type, timestamp: new Date(createdAt).toISOString(), data })
  const signed = webhookHeaders(secrets, { id: eventName(delivery.eventId), at: now, body })
  const headers = { 'content-type': 'application/json', 'user-agent': 'Latchkey-Webhooks/1', ...signed }
  return outbound.post(delivery.url, { headers, body }, abort)
}

/** Event id as receivers and the delivery log show it. */
export function eventName(eventId: string): string {
  return `evt_${eventId.replaceAll('-', '')}`
}

/** The current secret and, for a day after a rotation, the previous one. */
function secretsOf(keys: Context['config']['keys'], delivery: DueDelivery): readonly string[] {
  const { endpointId, keyId, generation, previousKeyId } = delivery
  const current = webhookSecret(keys, { endpointId, keyId, generation })
  const previous =
    previousKeyId === null
      ? null
      : webhookSecret(keys, { endpointId, keyId: previousKeyId, generation: generation - 1 })
  return [current, previous].filter((secret) => secret !== null)
}

async function giveUpEndpoint(context: Context, endpointId: string): Promise<void> {
  await context.db.transaction(async (tx) => {
    const applicationId = await disableEndpoint(tx, endpointId, 'gone')
    if (applicationId === null) return
    await recordEvent(tx, {
      kind: 'webhook.gone',
      actor: byService('webhook-delivery'),
      applicationId,
      detail: { endpoint: endpointId },
    })
  })
}
