/** Random values: every id that must not be predictable. */
import { randomBytes, randomUUID } from 'node:crypto'
import { uuidFrom } from './device-code-text.ts'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** `app_k3v9m2x7q4tz`: the prefix makes log lines readable and mix-ups visible. 60 random bits. */
export function createId(
  prefix: 'acc' | 'usr' | 'rol' | 'app' | 'sec' | 'rev' | 'dec' | 'whk' | 'opc' | 'mgk',
): string {
  return `${prefix}_${randomText(12)}`
}

export function randomText(length: number): string {
  return Array.from(randomBytes(length), (byte) => ALPHABET[byte & 31]).join('')
}

/**
 * Public id of a grant. 100 random bits: even if a thousand installations of 10^9 grants each are merged, the chance of
 * a collision is one in 2 million.
 */
export function createGrantId(): string {
  return `grt_${randomText(20)}`
}

/**
 * The secret that a grant's credentials are computed from. 128 random bits; PostgreSQL's uuid type stores them in 16
 * bytes.
 */
export function createGrantSecret(): string {
  return uuidFrom(randomBytes(16))
}

export function createLeaseId(): string {
  return randomUUID()
}

/**
 * The id starts with the time, so that inserts fill an index page by page instead of at random places (as RFC 9562's
 * version 7). 80 random bits follow; the MAC, not the id, prevents guessing.
 */
export function createDeviceCodeId(now: number): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Math.floor(now), 0, 6)
  return uuidFrom(bytes)
}

const REQUEST_ID_DIGITS = 16
const REQUEST_IDS_AT_ONCE = 512

let requestIds = ''
let usedDigits = 0

/**
 * 64 random bits: reveals nothing about other requests, not even their number. Cut from a pregenerated text, because
 * every poll needs one.
 */
export function createRequestId(): string {
  if (usedDigits === requestIds.length) {
    requestIds = randomBytes((REQUEST_IDS_AT_ONCE * REQUEST_ID_DIGITS) / 2).toString('hex')
    usedDigits = 0
  }
  usedDigits += REQUEST_ID_DIGITS
  return requestIds.slice(usedDigits - REQUEST_ID_DIGITS, usedDigits)
}
