/**
 * Webhook secrets: sign the messages to an endpoint (Standard Webhooks, symmetric). Not stored: computed from the
 * endpoint's id and a generation under a server key (docs/history.md#0013).
 */
import { Webhook } from 'standardwebhooks'
import type { Keyset } from './keyset.ts'
import { mac } from './mac.ts'

export type WebhookSecretReference = {
  readonly endpointId: string
  readonly keyId: number
  readonly generation: number
}

/** `whsec_…`. Null when its key was removed from LATCHKEY_KEYS: everything made with that key is invalid. */
export function webhookSecret(keys: Keyset, reference: WebhookSecretReference): string | null {
  const key = keys.byId.get(reference.keyId)
  if (!key) return null
  const content = Buffer.from(`${reference.endpointId}.${reference.generation}`)
  return `whsec_${mac(key.for.webhook, content).toString('base64')}`
}

export type SignedMessage = {
  readonly id: string
  /** Time of the attempt, not of the event. Epoch milliseconds. */
  readonly at: number
  readonly body: string
}

/** The three headers, with one signature per secret: a receiver needs to match any one of them. */
export function webhookHeaders(secrets: readonly string[], { id, at, body }: SignedMessage): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, new Date(at), body)).join(' '),
  }
}
