/** A million pending codes in PostgreSQL: rows as the service inserts them, in bulk. */

import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Context } from '../../src/flows/context.ts'
import { makePartitionsAhead } from '../../src/flows/sweep.ts'
import { signDeviceCode } from '../../src/secrets/device-code-text.ts'
import { createDeviceCodeId } from '../../src/secrets/random.ts'
import { computeUserCode, digestUserCode } from '../../src/secrets/user-code.ts'
import { insertDeviceCode, type NewDeviceCode } from '../../src/store/device/codes.ts'
import { readClock } from '../../src/store/device/partitions.ts'
import type { TestDatabase } from '../rig/engines/database.ts'

type Database = Pick<TestDatabase, 'query'>

/** The length that the service chooses with a million live codes: docs/interface/device-flow.md, "The user code". */
const RANDOM_DIGITS = 12

/** The codes were requested evenly over the lifetime of a code. */
const REQUESTED_OVER_MS = 15 * 60 * 1000

const ROWS_PER_STATEMENT = 10_000

type PendingCodes = {
  readonly ids: readonly string[]
  /** Device codes as applications hold them. */
  readonly texts: readonly string[]
}

export async function placePendingCodes(
  context: Context,
  database: Database,
  applicationId: string,
  count: number,
): Promise<{ codes: PendingCodes; bytes: number }> {
  await makePartitionsAhead(context.db, context.config.deviceCodeLifetimeMs)
  const requested = requestCodes(context, applicationId, count, await readClock(context.db))
  const before = await bytesOfCodes(database)
  for (let start = 0; start < count; start += ROWS_PER_STATEMENT) {
    await insertMany(database, requested.slice(start, start + ROWS_PER_STATEMENT))
  }
  const bytes = (await bytesOfCodes(database)) - before
  await checkLikeness(context, database, requested[0])
  // Autovacuum would have analysed a table that grew to this size in a quarter of an hour.
  await database.query('analyze device_codes')
  return { codes: sealAll(context, requested), bytes }
}

type RequestedCode = NewDeviceCode & { readonly expiresAt: number }

function requestCodes(context: Context, applicationId: string, count: number, now: number): RequestedCode[] {
  const taken = new Set<string>()
  const freeUserCode = (at: number): ReturnType<typeof newUserCode> => {
    const made = newUserCode(context, at)
    if (taken.has(made.userCode)) return freeUserCode(at)
    taken.add(made.userCode)
    return made
  }
  const lifetimeMs = context.config.deviceCodeLifetimeMs
  return Array.from({ length: count }, (_, index) => {
    const at = now - REQUESTED_OVER_MS + (index / count) * REQUESTED_OVER_MS
    return {
      ...freeUserCode(at).stored,
      applicationId,
      variant: 'token_set',
      scopes: ['orders:read'],
      // 128 random bits, a typical `state`.
      state: randomBytes(16).toString('base64url'),
      requestedFrom: `203.0.113.${index % 256}`,
      requestedWith: 'AcmeTelevision/2.1 (Tizen 7.0)',
      lifetimeMs,
      expiresAt: Math.floor(at) + lifetimeMs,
    }
  })
}

function newUserCode({ config: { keys } }: Context, at: number) {
  const id = createDeviceCodeId(at)
  const userCode = computeUserCode(keys.signing, id, RANDOM_DIGITS)
  const userCodeDigests = digestUserCode(keys, userCode)
  return { userCode, stored: { id, keyId: keys.signing.id, userCodeDigits: userCode.length, userCodeDigests } }
}

async function insertMany(database: Database, codes: readonly RequestedCode[]): Promise<void> {
  const [code] = codes
  if (!code) return
  await database.query(
    `insert into device_codes (id, expires_at, created_at, application_id, variant, status, key_id, user_code_digits,
       user_code_digest, scopes, state, requested_from, requested_with)
     select id, expires_at, now(), $5, $6, 'pending', $10, $11, user_code_digest, $7, state, requested_from, $9
     from unnest($1::uuid[], $2::timestamptz[], $3::bytea[], $4::text[], $8::inet[])
       as given (id, expires_at, user_code_digest, state, requested_from)`,
    [
      codes.map((each) => each.id),
      codes.map((each) => new Date(each.expiresAt)),
      codes.map((each) => each.userCodeDigests[0]),
      codes.map((each) => each.state),
      code.applicationId,
      code.variant,
      code.scopes,
      codes.map((each) => each.requestedFrom),
      code.requestedWith,
      code.keyId,
      code.userCodeDigits,
    ],
  )
}

/** Compares such a row with one that the service inserts: equal in every comparable column, and of the same size. */
async function checkLikeness(context: Context, database: Database, bulk: RequestedCode | undefined): Promise<void> {
  if (!bulk) throw new Error('there are no codes')
  const own = { ...bulk, ...newUserCode(context, Date.now()).stored }
  await context.db.transaction((tx) => insertDeviceCode(tx, own))
  const look = async (id: string) => {
    const [row] = await database.query(
      `select to_jsonb(d) - array['id', 'expires_at', 'created_at', 'user_code_digest'] as row, pg_column_size(d) as size
       from device_codes d where id = $1`,
      [id],
    )
    return row
  }
  const [ours, theirs] = [await look(bulk.id), await look(own.id)]
  if (!isDeepStrictEqual(ours, theirs)) {
    throw new Error(`the service inserts ${JSON.stringify(theirs)}, this script ${JSON.stringify(ours)}`)
  }
  await database.query('delete from device_codes where id = $1', [own.id])
}

function sealAll(context: Context, requested: readonly RequestedCode[]): PendingCodes {
  const { keys, pollIntervalSeconds } = context.config
  const seal = (code: RequestedCode) => signDeviceCode(keys, { ...code, intervalSeconds: pollIntervalSeconds })
  return { ids: requested.map((code) => code.id), texts: requested.map(seal) }
}

/** Size of tables and indexes of all partitions. */
async function bytesOfCodes(database: Database): Promise<number> {
  const [row] = await database.query<{ bytes: string }>(
    `select coalesce(sum(pg_total_relation_size(inhrelid)), 0) as bytes from pg_inherits
     where inhparent = 'device_codes'::regclass`,
  )
  return Number(row?.bytes)
}
