/**
 * DNS record by which a publisher proves to own a domain. Computed from the application and the domain and not stored:
 * a record copied from another domain or application proves nothing.
 */
import { hash } from 'node:crypto'
import type { Keyset, SigningKey } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'

const PREFIX = 'latchkey-publisher='

/** The value of the record. In hex, because people read it out, and some write it in capitals. */
export function publisherRecord(keys: Keyset, applicationId: string, domain: string): string {
  return recordUnder(keys.signing, applicationId, domain)
}

/** Accepts every key: a record stays in place while keys are rotated. */
export function isPublisherRecord(keys: Keyset, applicationId: string, domain: string, text: string): boolean {
  const given = Buffer.from(text.trim().toLowerCase())
  return [...keys.byId.values()].some((key) =>
    equalSecrets(Buffer.from(recordUnder(key, applicationId, domain)), given),
  )
}

function recordUnder(key: SigningKey, applicationId: string, domain: string): string {
  const content = hash('sha256', JSON.stringify([applicationId, domain]), 'buffer')
  return PREFIX + mac(key.for.publisher, content).subarray(0, 16).toString('hex')
}
