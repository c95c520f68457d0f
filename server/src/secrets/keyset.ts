/**
 * Server keys from LATCHKEY_KEYS: `id:key` pairs, the first signs, all verify. No key is used directly: each purpose
 * has its own sub-key (HKDF, RFC 5869), so a text made for one purpose does not verify for another.
 */
import { hkdfSync, randomBytes } from 'node:crypto'
import { type MacKey, macKey } from './mac.ts'

const purposes = [
  'device-code',
  'user-code',
  'user-code-digest',
  'access-token',
  'refresh-token',
  'access-key',
  'authorization-code',
  'dialog-reference',
  'account-reference',
  'pushed-request',
  'application-secret',
  'test-secret',
  'idempotency-key',
  'session',
  'link',
  'form',
  'second-step',
  'hand-over',
  'provider-sign-in',
  'provider-secret',
  'challenge',
  'browser',
  'authenticator',
  'authenticator-setup',
  'recovery-code',
  'decision',
  'address',
  'webhook',
  'audit-seal',
  'audit-detachment',
  'publisher',
  'revocation-journal',
  'management-key',
  'stored-response',
] as const

export type Purpose = (typeof purposes)[number]

export type SigningKey = { readonly id: number; readonly for: Readonly<Record<Purpose, MacKey>> }

export type Keyset = {
  readonly signing: SigningKey
  /** By key id; `undefined` for an id that is not, or no longer, in the set. */
  readonly byId: Map<number, SigningKey>
}

const KEY_BYTES = 32

export type KeysetProblem = { readonly problem: string }

export function parseKeyset(text: string): Keyset | KeysetProblem {
  const byId = new Map<number, SigningKey>()
  for (const entry of text.split(/[\s,]/).filter((part) => part !== '')) {
    const match = /^(\d{1,3}):([A-Za-z0-9_-]{43})$/.exec(entry)
    if (!match) return { problem: 'each key is written as id:key, a number and 43 base64url characters' }
    const id = Number(match[1])
    const key = Buffer.from(match[2] ?? '', 'base64url')
    if (id < 1 || id > 255) return { problem: `the key id ${id} is not between 1 and 255` }
    if (byId.has(id)) return { problem: `the key id ${id} is given twice` }
    byId.set(id, signingKey(id, key))
  }
  const [signing] = byId.values()
  return signing ? { signing, byId } : { problem: 'no key is given' }
}

/** Removes a retired key: from now on the set verifies nothing that it signed. */
export function dropKey(keys: Keyset, id: number): void {
  keys.byId.delete(id)
}

function signingKey(id: number, key: Buffer): SigningKey {
  const subKey = (purpose: Purpose) =>
    macKey(Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `latchkey/${purpose}`, KEY_BYTES)))
  return { id, for: Object.fromEntries(purposes.map((purpose) => [purpose, subKey(purpose)])) as SigningKey['for'] }
}

/** A new entry for LATCHKEY_KEYS. */
export function createKey(id: number): string {
  return `${id}:${randomBytes(KEY_BYTES).toString('base64url')}`
}
