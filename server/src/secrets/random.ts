/** Entropy: every id and every digit that must not be predicted. */
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { checkDigit } from '../core/device/user-code.ts'
import { uuidFrom } from './device-code-text.ts'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** `app_k3v9m2x7q4tz`: the prefix makes a log line legible and a mix-up visible. 60 random bits. */
export function createId(prefix: 'acc' | 'usr' | 'rol' | 'app' | 'sec' | 'rev' | 'dec' | 'whk'): string {
  return `${prefix}_${randomText(12)}`
}

function randomText(length: number): string {
  return Array.from(randomBytes(length), (byte) => ALPHABET[byte & 31]).join('')
}

/**
 * What everybody names a grant by. 100 random bits: a thousand installations of 10^9 grants each, and still no two alike (one
 * chance in 2 million), in case they are ever brought together.
 */
export function createGrantId(): string {
  return `grt_${randomText(20)}`
}

/** What a grant's credentials are made around. 128 random bits; PostgreSQL's uuid type keeps them in 16 bytes. */
export function createGrantSecret(): string {
  return uuidFrom(randomBytes(16))
}

export function createLeaseId(): string {
  return randomUUID()
}

/**
 * A device code's id starts with the time, so that a million of them fill an index page by page instead of everywhere at
 * once (RFC 9562, version 7's idea). 80 random bits follow; the MAC, not the id, is what keeps it from being guessed.
 */
export function createDeviceCodeId(now: number): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Math.floor(now), 0, 6)
  return uuidFrom(bytes)
}

export function createUserCode(randomDigits: number): string {
  const digits = Array.from({ length: randomDigits }, () => randomInt(10)).join('')
  return digits + checkDigit(digits)
}

const REQUEST_ID_DIGITS = 16
const REQUEST_IDS_AT_ONCE = 512

let requestIds = ''
let taken = 0

/** 64 random bits: it says nothing about other requests, not even how many there were. Cut off a long text, because every poll has one. */
export function createRequestId(): string {
  if (taken === requestIds.length) {
    requestIds = randomBytes((REQUEST_IDS_AT_ONCE * REQUEST_ID_DIGITS) / 2).toString('hex')
    taken = 0
  }
  taken += REQUEST_ID_DIGITS
  return requestIds.slice(taken - REQUEST_ID_DIGITS, taken)
}
