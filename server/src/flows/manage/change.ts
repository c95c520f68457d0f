/**
 * Changes by the management API. The flow that makes a change is the one of the consoles; here it runs within one
 * transaction together with the record of the request, so that a repeated request changes nothing.
 */
import { hash } from 'node:crypto'
import type { Actor } from '../../core/audit/actor.ts'
import { decryptResponse, encryptResponse } from '../../secrets/manage/stored-response.ts'
import { nameNetwork } from '../../store/audit/events.ts'
import { findRequest, insertRequest, type RequestName, saveResponse } from '../../store/manage/requests.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'

export type ChangeRequest = {
  readonly actor: Pick<Actor, 'id'>
  /** Of the program; every event of the change names it. */
  readonly network: string | null
  /** Null: the request is not recorded. */
  readonly idempotencyKey: string | null
  /** Method, path and body: what a repetition has in common with the first request. */
  readonly content: string
  /** Everything is done and checked, and then undone. */
  readonly dryRun: boolean
}

export type Changed<T> =
  | { readonly outcome: 'done'; readonly value: T }
  /** The same Idempotency-Key was used for another request. */
  | { readonly outcome: 'other_request' }
  /** It was done before, but the server key that encrypted the response is retired. */
  | { readonly outcome: 'response_lost' }

/** `work` gets a context in which every flow joins this transaction. A Refusal that it throws undoes everything. */
export async function makeChange<T>(
  context: Context,
  request: ChangeRequest,
  work: (inside: Context) => Promise<T>,
): Promise<Changed<T>> {
  try {
    return await context.db.transaction((tx) => changeOnce(context, tx, request, work))
  } catch (error) {
    if (error instanceof DryRun) return { outcome: 'done', value: error.value as T }
    throw error
  }
}

/** Thrown to roll the transaction of a dry run back. */
class DryRun extends Error {
  readonly value: unknown

  constructor(value: unknown) {
    super('dry run')
    this.value = value
  }
}

async function changeOnce<T>(
  context: Context,
  tx: Transaction,
  { actor, network, idempotencyKey, content, dryRun }: ChangeRequest,
  work: (inside: Context) => Promise<T>,
): Promise<Changed<T>> {
  const inside = joining(context, tx)
  await nameNetwork(tx, network)
  if (dryRun) throw new DryRun(await work(inside))
  if (idempotencyKey === null) return { outcome: 'done', value: await work(inside) }
  const { keys } = context.config
  // A hash without a server key, so that a repeated request is recognised after a key rotation.
  const name: RequestName = { managementKeyId: actor.id, idempotencyKey: hash('sha256', idempotencyKey, 'base64url') }
  const fingerprint = hash('sha256', content, 'base64url')
  if (!(await insertRequest(tx, name, fingerprint))) {
    const known = await findRequest(tx, name)
    if (known?.fingerprint !== fingerprint) return { outcome: 'other_request' }
    const text = decryptResponse(keys, known, idempotencyKey)
    return text === null ? { outcome: 'response_lost' } : { outcome: 'done', value: JSON.parse(text) as T }
  }
  const value = await work(inside)
  await saveResponse(tx, name, encryptResponse(keys, JSON.stringify(value), idempotencyKey))
  return { outcome: 'done', value }
}

/** A context whose flows read and write within the transaction. */
export function joining<C extends Pick<Context, 'db'>>(context: C, tx: Transaction): C {
  return { ...context, db: { ...context.db, query: tx.query, transaction: (work) => work(tx) } }
}
