/** Requests made of pieces that break parsers, statements and keys. The seed determines them all: FUZZ_SEED=N repeats a run. */
import { randomInt } from 'node:crypto'
import { openRawConnection } from '../../rig/network/raw-connection.ts'

const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31))
const CONNECTIONS = 16

export const VALUES = [
  ...[
    '%',
    '%00',
    '%e2',
    '%ff%fe',
    '%c0%af',
    '%ed%a0%80',
    '%0d%0aX: y',
    '+',
    '%2b',
    '%25%30%30',
    ';',
    '[]',
    '{}',
    '\u00ff',
  ],
  ...[
    "' or 1=1 --",
    '"; drop table users; --',
    "')) union select null--",
    '$1',
    '\\',
    "E'\\\\'",
    '%27%3bselect pg_sleep(9)',
  ],
  ...['{tag}', 'p:{x}', '* keys', '\\r\\nFLUSHALL\\r\\n', '../../etc/passwd', '//evil.example', 'javascript:alert(1)'],
  ...[
    '<script>',
    ']]>',
    '&lt;',
    '&#0;',
    '\u202e',
    '-1',
    '0',
    '1e999',
    '9'.repeat(40),
    'null',
    'true',
    'NaN',
    'lka_0000',
  ],
  ...['lkd_0000AAAA', 'app_000000000000', 'grt_', 'a'.repeat(1_100), 'á'.repeat(300), '2026-02-30', '0001-01-01'],
]
export const HEADERS = [
  ...[
    'Authorization: Basic',
    'Authorization: Basic %%%',
    'Authorization: Bearer',
    'Authorization: bearer \u00ff',
    'Authorization: DPoP x',
  ],
  ...[
    'Cookie: __Host-session',
    'Cookie: =;;=',
    'Cookie: __Host-session=lkw_0000; __Host-session=x',
    'Accept-Language: *;q=9,\u00e4',
  ],
  ...['Origin: null', 'Origin: \u00ff', 'Sec-Fetch-Site: cross-site', 'Sec-Fetch-Site: x', 'Idempotency-Key: '],
  ...[
    'X-Forwarded-For: 1.2.3.4, ::, x',
    'X-Request-Id: a b',
    'If-None-Match: *',
    'Range: bytes=0-',
    'Accept: application/xml',
  ],
  ...['X-HTTP-Method-Override: DELETE', 'Content-Encoding: gzip', 'User-Agent: \u0080', 'Referer: ://', 'Upgrade: h2c'],
]
/** A number from 0 up to, but not including, `sides`. */
export type Dice = (sides: number) => number

/** Numbers that the seed determines (mulberry32). */
function createDice(seed: number): Dice {
  let state = seed
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * sides)
  }
}

export function anyOf<T>(dice: Dice, values: readonly T[]): T {
  return values[dice(values.length)] as T
}

export type FuzzResult = {
  /** Internal errors, and answers with a header of the request's making. */
  readonly failed: readonly string[]
  /** How often each status was answered; 0 is a connection that was closed without an answer. */
  readonly statuses: ReadonlyMap<number, number>
}

export async function sendFuzzed(
  address: string,
  total: number,
  write: (at: number, dice: Dice) => Buffer,
): Promise<FuzzResult> {
  console.log(`seed: FUZZ_SEED=${SEED}`)
  const failed: string[] = []
  const statuses = new Map<number, number>()
  let next = 0
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const connection = openRawConnection(address)
      for (let at = next++; at < total; at = next++) {
        const request = write(at, createDice(SEED + at))
        const { status, text } = await connection.send(request)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        // 503: a busy machine sheds requests, and says so.
        if ((status >= 500 && status !== 503) || /^x: y/im.test(text))
          failed.push(`${status}: ${request.toString('latin1').slice(0, 400)}`)
      }
      connection.close()
    }),
  )
  console.log(
    `answers: ${[...statuses]
      .sort()
      .map(([status, count]) => `${status}=${count}`)
      .join(' ')}`,
  )
  return { failed, statuses }
}
