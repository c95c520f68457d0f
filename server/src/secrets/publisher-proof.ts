/**
 * What a publisher sets in DNS to show that a domain is theirs. Computed from the application and the domain, and stored
 * nowhere: a record that was copied from somebody else's domain, or for another application, proves nothing.
 */
import { hash } from 'node:crypto'
import type { Keyset, SigningKey } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'

const PREFIX = 'latchkey-publisher='

/** The whole value of the record. In hex, because people read it out, and some write it down in capitals. */
export function publisherRecord(keys: Keyset, applicationId: string, domain: string): string {
  return recordUnder(keys.signing, applicationId, domain)
}

/** Under any of the keys: a record stays where it is while keys change. */
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
