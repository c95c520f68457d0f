/**
 * Retirement of a signing key: counts the credentials that depend on it, notifies their owners, and revokes them on
 * request. Afterwards no process accepts anything that the key signed. docs/decisions/0038-a-signing-key-can-be-retired.md.
 */
import type { Config } from '../../config.ts'
import { BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import { dropKey, type Keyset } from '../../secrets/keyset.ts'
import { recordEvent } from '../../store/audit/events.ts'
import {
  deleteRecoveryCodesOfKey,
  deleteSessionsOfKey,
  notifyApplicationOwners,
  notifyAuthenticatorOwners,
  notifyRecoveryCodeOwners,
  revokeGrantsOfKey,
  revokeManagementKeysOfKey,
  revokeSecretsOfKey,
} from '../../store/operator/key-endings.ts'
import {
  countKeyUse,
  type KeyUse,
  type Lifetimes,
  markRetired,
  readRetiredKeys,
  readSigningKey,
} from '../../store/operator/signing-keys.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'
import { endTestModesOfKey } from '../applications/test-mode.ts'
import type { Context } from '../context.ts'

/** Processes record their signing key every ten seconds (jobs/background.ts). After this long without, it is unused. */
const SIGNS_MS = 30_000

export const RETIREMENT_SETTINGS = [
  'databaseUrl',
  'keys',
  'accessTokenLifetimeMs',
  'accessKeyOverlapMs',
  'refreshTokenLifetimeMs',
  'grantLifetimeMs',
  'sessionIdleMs',
  'operatorSessionIdleMs',
] as const satisfies readonly (keyof Config)[]

export type Retiring = Lifetimes & { readonly db: Postgres; readonly keys: Keyset }

export type Retirement =
  | { readonly outcome: 'retired'; readonly ended: KeyUse }
  /** `signs`: it is first in LATCHKEY_KEYS, here or in a running process. */
  | { readonly outcome: 'signs'; readonly where: 'here' | 'elsewhere' }
  | { readonly outcome: 'in_use'; readonly use: KeyUse }
  /** It is not in LATCHKEY_KEYS and never signed: retired by mistake, a later key of this number could not be used. */
  | { readonly outcome: 'unknown' }

export function countUse({ db, ...lifetimes }: Retiring, keyId: number): Promise<KeyUse> {
  return countKeyUse(db, keyId, lifetimes)
}

/** `force`: also if something still needs it. May be repeated if it was interrupted. */
export async function retireKey(retiring: Retiring, keyId: number, force: boolean): Promise<Retirement> {
  const { db, keys } = retiring
  if (keyId === keys.signing.id) return { outcome: 'signs', where: 'here' }
  const { idleMs, retired } = await readSigningKey(db, keyId)
  if (!retired && idleMs === null && !keys.byId.has(keyId)) return { outcome: 'unknown' }
  if (!retired && idleMs !== null && idleMs < SIGNS_MS) return { outcome: 'signs', where: 'elsewhere' }
  const use = await countUse(retiring, keyId)
  if (!force && Object.values(use).some((count) => count > 0)) return { outcome: 'in_use', use }
  await db.transaction(async (tx) => {
    await markRetired(tx, keyId)
    await recordEvent(tx, { kind: 'key.retired', actor: BY_COMMAND_LINE, detail: { key: keyId, ...use } })
  })
  await revokeGrants(db, keyId)
  await inBatches(db, (tx) => revokeSecretsOfKey(tx, BY_COMMAND_LINE, keyId))
  await inBatches(db, (tx) => deleteSessionsOfKey(tx, keyId))
  await inBatches(db, (tx) => deleteRecoveryCodesOfKey(tx, keyId))
  await db.transaction((tx) => revokeManagementKeysOfKey(tx, BY_COMMAND_LINE, keyId))
  await endTestModesOfKey(db, BY_COMMAND_LINE, keyId)
  return { outcome: 'retired', ended: use }
}

async function revokeGrants(db: Postgres, keyId: number): Promise<void> {
  let after: string | null = ''
  while (after !== null) {
    const from: string = after
    after = await db.transaction((tx) => revokeGrantsOfKey(tx, BY_COMMAND_LINE, keyId, from))
  }
}

async function inBatches(db: Postgres, endSome: (tx: Transaction) => Promise<number>): Promise<void> {
  while ((await db.transaction(endSome)) > 0);
}

export type Told = {
  readonly authenticatorOwners: number
  readonly recoveryCodeOwners: number
  readonly administrators: number
}

/** Mails to everybody who has to do something before the key can be retired; to nobody twice within a week. */
export function announceRetirement(db: Postgres, keyId: number): Promise<Told> {
  return db.transaction(async (tx) => {
    const administrators = await notifyApplicationOwners(tx, keyId)
    const authenticatorOwners = await notifyAuthenticatorOwners(tx, keyId)
    return { administrators, authenticatorOwners, recoveryCodeOwners: await notifyRecoveryCodeOwners(tx, keyId) }
  })
}

/** Takes retired keys out of this process's set. False if the key that signs is one of them: nothing would be accepted. */
export async function dropRetiredKeys({
  db,
  config,
  applications,
}: Pick<Context, 'db' | 'config' | 'applications'>): Promise<boolean> {
  const { byId, signing } = config.keys
  const retired = (await readRetiredKeys(db)).filter((id) => byId.has(id))
  if (retired.includes(signing.id)) return false
  if (retired.length === 0) return true
  // This process may have digests of secrets that were rehashed since by another one.
  await applications.reload()
  for (const id of retired) dropKey(config.keys, id)
  return true
}
