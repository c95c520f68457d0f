/**
 * The table device_codes. A row is found by the id and expiry that its device code carries, or by a digest of
 * its user code.
 */
import type { DeviceCode } from '../../core/device/code.ts'
import type { StoredUserCode } from '../../secrets/user-code.ts'
import { lockByNames } from '../postgres/advisory-locks.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type StoredDeviceCode = DeviceCode & RequestOrigin & StoredUserCode & { readonly createdAt: number }

/** Origin of a request for a code: the address that the server saw, and what the device says it is. */
export type RequestOrigin = { readonly requestedFrom: string | null; readonly requestedWith: string | null }

/** Primary key of a row, known without a look-up: the device code carries both. */
export type DeviceCodeKey = { readonly id: string; readonly expiresAt: number }

/** A row with PostgreSQL's time when it was read, by which its expiry is judged. */
export type Found = { readonly code: StoredDeviceCode; readonly now: number }

const COLUMNS = `id, expires_at, created_at, application_id, variant, status, entry_closed, also_entered, key_id, user_code_digits,
  scopes, state, claimed_by, claimed_as, taken_from, moved_from, closed_by, grant_id, lease_id, leased_until, outcome, idempotency_key, host(requested_from) as requested_from,
  requested_with`

type Row = {
  id: string
  expires_at: number
  created_at: number
  application_id: string
  variant: DeviceCode['variant']
  status: DeviceCode['status']
  entry_closed: boolean
  also_entered: DeviceCode['alsoEntered']
  key_id: number
  user_code_digits: number
  scopes: string[]
  state: string
  claimed_by: string | null
  claimed_as: string | null
  taken_from: string | null
  moved_from: string[]
  closed_by: string | null
  grant_id: string | null
  lease_id: string | null
  leased_until: number | null
  outcome: NonNullable<DeviceCode['delivery']>['outcome'] | null
  idempotency_key: string | null
  requested_from: string | null
  requested_with: string | null
  now: number
}

export type NewDeviceCode = Pick<DeviceCode, 'id' | 'applicationId' | 'variant' | 'scopes' | 'state'> &
  RequestOrigin &
  StoredUserCode & {
    /** Under every key, that of the code first. */
    readonly userCodeDigests: readonly Buffer[]
    readonly lifetimeMs: number
  }

/**
 * Returns the expiry of the new code, or null when its user code is already live. Each partition has a unique index on
 * its live user codes; the advisory lock makes the check hold across partitions, for two equal codes requested at the
 * same instant around the edge of a partition.
 */
export async function insertDeviceCode(tx: Transaction, code: NewDeviceCode): Promise<number | null> {
  await lockByNames(
    tx,
    code.userCodeDigests.map((digest) => `user_code:${digest.toString('hex')}` as const),
  )
  const { rows } = await tx.query<{ expires_at: number }>({
    name: 'insert-device-code',
    // Truncated to milliseconds: the device code carries the expiry in milliseconds to find its row again.
    text: `insert into device_codes (id, expires_at, created_at, application_id, variant, status, user_code_digest,
        key_id, user_code_digits, scopes, state, requested_from, requested_with)
      select $1, date_trunc('milliseconds', now()) + $2 * interval '1 millisecond', now(), $3, $4, 'pending',
        ($5::bytea[])[1], $6, $7, $8, $9, $10::inet, $11
      where not exists (
        select from device_codes where user_code_digest = any($5) and status = 'pending' and expires_at > now())
      returning expires_at`,
    values: [
      code.id,
      code.lifetimeMs,
      code.applicationId,
      code.variant,
      code.userCodeDigests,
      code.keyId,
      code.userCodeDigits,
      code.scopes,
      code.state,
      code.requestedFrom,
      code.requestedWith,
    ],
  })
  return rows[0]?.expires_at ?? null
}

export async function lockDeviceCode(tx: Transaction, key: DeviceCodeKey): Promise<Found | null> {
  const { rows } = await tx.query<Row>({
    name: 'lock-device-code',
    text: `select ${COLUMNS}, now() as now from device_codes where id = $1 and expires_at = $2 for update`,
    values: [key.id, new Date(key.expiresAt)],
  })
  return rows[0] ? foundFrom(rows[0]) : null
}

/** Reads without a lock, for display. */
export async function readDeviceCode(db: Queryable, key: DeviceCodeKey): Promise<Found | null> {
  const { rows } = await db.query<Row>({
    name: 'read-device-code',
    text: `select ${COLUMNS}, now() as now from device_codes where id = $1 and expires_at = $2`,
    values: [key.id, new Date(key.expiresAt)],
  })
  return rows[0] ? foundFrom(rows[0]) : null
}

export async function lockLiveUserCode(tx: Transaction, digests: readonly Buffer[]): Promise<Found | null> {
  const { rows } = await tx.query<Row>({
    name: 'lock-live-user-code',
    text: `select ${COLUMNS}, now() as now from device_codes
     where user_code_digest = any($1::bytea[]) and status = 'pending' and expires_at > now() for update`,
    values: [digests],
  })
  return rows[0] ? foundFrom(rows[0]) : null
}

/**
 * The newest code with these digits, in any state: for an operator's look-up, test codes, and telling an existing code
 * from a miss.
 */
export async function findByUserCode(db: Queryable, digests: readonly Buffer[]): Promise<Found | null> {
  const { rows } = await db.query<Row>({
    name: 'find-by-user-code',
    text: `select ${COLUMNS}, now() as now from device_codes where user_code_digest = any($1::bytea[])
     order by created_at desc limit 1`,
    values: [digests],
  })
  return rows[0] ? foundFrom(rows[0]) : null
}

/** Saves every column that a step of the state machine can change. */
export async function saveDeviceCode(tx: Transaction, code: DeviceCode): Promise<void> {
  await tx.query({
    name: 'save-device-code',
    text: `update device_codes set
        status = $3, entry_closed = $4, claimed_by = $5, grant_id = $6, lease_id = $7, leased_until = $8, outcome = $9,
        idempotency_key = $10, also_entered = $11, claimed_as = $12, taken_from = $13, moved_from = $14, closed_by = $15,
        decided_at = case when $3::text in ('accepted', 'rejected')
          then coalesce(decided_at, now()) else decided_at end,
        used_at = case when $3::text = 'used' then coalesce(used_at, now()) end
      where id = $1 and expires_at = $2`,
    values: [
      code.id,
      new Date(code.expiresAt),
      code.status,
      code.entryClosed,
      code.claimedBy,
      code.grantId,
      code.delivery?.leaseId ?? null,
      code.delivery ? new Date(code.delivery.until) : null,
      code.delivery?.outcome ?? null,
      code.delivery?.idempotencyKey ?? null,
      code.alsoEntered,
      code.claimedAs,
      code.takenFrom,
      code.movedFrom,
      code.closedBy,
    ],
  })
}

/** What a poll needs to decide whether it has to start a transaction. */
export type DeviceCodeStatus = {
  readonly status: 'pending' | 'final' | 'leased' | 'used'
  /** Until the code expires; 0 when it has. */
  readonly remainingMs: number
  /** Key of the poll that holds the outcome or received it. */
  readonly idempotencyKey: string | null
}

/**
 * Reads the status of many codes in one query. A pending code that has expired or was closed is `final`: there is an outcome
 * to deliver.
 */
export async function readDeviceCodeStatuses(
  db: Queryable,
  keys: readonly DeviceCodeKey[],
): Promise<Map<string, DeviceCodeStatus>> {
  const expiries = keys.map((key) => key.expiresAt)
  const { rows } = await db.query<{
    id: string
    status: DeviceCodeStatus['status']
    remaining: number
    key: string | null
  }>({
    name: 'read-device-code-statuses',
    text: `select id,
        case when status = 'used' then 'used'
             when leased_until > now() then 'leased'
             when status = 'pending' and expires_at > now() and also_entered is distinct from 'another_account' then 'pending'
             else 'final' end as status,
        greatest(0, extract(epoch from expires_at - now()) * 1000)::float8 as remaining,
        idempotency_key as key
      from device_codes where id = any($1::uuid[]) and expires_at between $2 and $3`,
    values: [keys.map((key) => key.id), new Date(Math.min(...expiries)), new Date(Math.max(...expiries))],
  })
  return new Map(
    rows.map((row) => [row.id, { status: row.status, remainingMs: row.remaining, idempotencyKey: row.key }]),
  )
}

function foundFrom(row: Row): Found {
  return { code: fromRow(row), now: row.now }
}

function fromRow(row: Row): StoredDeviceCode {
  return {
    id: row.id,
    applicationId: row.application_id,
    variant: row.variant,
    scopes: row.scopes,
    state: row.state,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    keyId: row.key_id,
    userCodeDigits: row.user_code_digits,
    requestedFrom: row.requested_from,
    requestedWith: row.requested_with,
    status: row.status,
    claimedBy: row.claimed_by,
    claimedAs: row.claimed_as,
    takenFrom: row.taken_from,
    movedFrom: row.moved_from,
    closedBy: row.closed_by,
    entryClosed: row.entry_closed,
    alsoEntered: row.also_entered,
    grantId: row.grant_id,
    delivery:
      row.lease_id !== null && row.leased_until !== null && row.outcome !== null
        ? {
            leaseId: row.lease_id,
            until: row.leased_until,
            outcome: row.outcome,
            idempotencyKey: row.idempotency_key,
          }
        : null,
  }
}
