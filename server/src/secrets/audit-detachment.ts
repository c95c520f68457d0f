/**
 * Signed record of a month that was detached from the audit log: the stretches of the chain that left with it. The rest
 * of the chain continues from their last seals.
 * docs/history.md#0029
 */
import { hash } from 'node:crypto'
import type { Keyset, SigningKey } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'

/** A gapless part of the chain: the hash before its first seal, and the hash of its last. */
export type ChainRun = {
  readonly from: number
  readonly to: number
  readonly previous: Buffer
  readonly hash: Buffer
}

export type DetachedMonth = {
  /** In UTC, as 2026-08. */
  readonly month: string
  /** More than one where transactions of two months overlap. */
  readonly runs: readonly ChainRun[]
}

export type Detachment = DetachedMonth & { readonly keyId: number; readonly mac: Buffer }

export function signDetachment(key: SigningKey, { month, runs }: DetachedMonth): Detachment {
  return { month, runs, keyId: key.id, mac: macOf(key, { month, runs }) }
}

/** Whether the MAC is valid; null when its key is unknown. */
export function isSigned(keys: Keyset, detachment: Detachment): boolean | null {
  const key = keys.byId.get(detachment.keyId)
  return key ? equalSecrets(macOf(key, detachment), detachment.mac) : null
}

type PlainRun = { readonly from: number; readonly to: number; readonly previous: string; readonly hash: string }

export function plainRuns(runs: readonly ChainRun[]): readonly PlainRun[] {
  return runs.map(({ from, to, previous, hash: last }) => ({
    from,
    to,
    previous: previous.toString('hex'),
    hash: last.toString('hex'),
  }))
}

export function readRuns(runs: readonly PlainRun[]): readonly ChainRun[] {
  return runs.map(({ from, to, previous, hash: last }) => ({
    from,
    to,
    previous: Buffer.from(previous, 'hex'),
    hash: Buffer.from(last, 'hex'),
  }))
}

function macOf(key: SigningKey, { month, runs }: DetachedMonth): Buffer {
  const text = JSON.stringify({ month, runs: plainRuns(runs) })
  return mac(key.for['audit-detachment'], hash('sha256', text, 'buffer'))
}
