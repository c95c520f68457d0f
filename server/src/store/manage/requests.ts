/** The table management_requests: responses kept for the repetition of a request. */
import type { StoredResponse } from '../../secrets/manage/stored-response.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

export type RequestName = { readonly managementKeyId: string; readonly idempotencyKey: string }

/** False if there was such a request. Waits for one that is under way. */
export async function insertRequest(tx: Transaction, name: RequestName, fingerprint: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into management_requests (management_key_id, idempotency_key, fingerprint, created_at)
     values ($1, $2, $3, now()) on conflict do nothing`,
    [name.managementKeyId, name.idempotencyKey, fingerprint],
  )
  return rowCount === 1
}

export async function saveResponse(tx: Transaction, name: RequestName, response: StoredResponse): Promise<void> {
  await tx.query(
    `update management_requests set response = $3, response_key_id = $4
     where management_key_id = $1 and idempotency_key = $2`,
    [name.managementKeyId, name.idempotencyKey, response.bytes, response.keyId],
  )
}

export async function findRequest(
  db: Queryable,
  name: RequestName,
): Promise<(StoredResponse & { readonly fingerprint: string }) | null> {
  const { rows } = await db.query<StoredResponse & { fingerprint: string }>(
    `select fingerprint, response as bytes, response_key_id as "keyId" from management_requests
     where management_key_id = $1 and idempotency_key = $2`,
    [name.managementKeyId, name.idempotencyKey],
  )
  return rows[0] ?? null
}

export function forgetRequests(db: Queryable): Promise<void> {
  return forget(db, 'management_requests', "created_at < now() - interval '24 hours'")
}
