/** Key check: LATCHKEY_KEYS contains the keys that signed and sealed what is stored. */
import { fits } from '../../flows/audit/explain-break.ts'
import { NO_SEAL } from '../../secrets/audit-seal.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { type KeyUse, readKeyUse } from '../../store/accounts/set-up-facts.ts'
import { readChain, readLastSeal } from '../../store/audit/seals.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'
import { broken, type Finding, ok } from './finding.ts'

export async function examineKeys(db: Postgres, keys: Keyset): Promise<readonly Finding[]> {
  const findings = [...missing(keys, await readKeyUse(db)), ...(await examineSeal(db, keys))]
  if (findings.length > 0) return findings
  const ids = [...keys.byId.keys()].join(', ')
  return [ok('keys', `Key ${keys.signing.id} signs; ${ids} ${keys.byId.size > 1 ? 'verify' : 'verifies'}.`)]
}

function missing(keys: Keyset, used: readonly KeyUse[]): readonly Finding[] {
  const ids = new Set(used.map(({ keyId }) => keyId).filter((id) => !keys.byId.has(id)))
  return [...ids].map((id) => {
    const made = used.filter(({ keyId }) => keyId === id).map(({ what, count }) => `${count} ${what}`)
    return broken(
      'keys',
      `Key ${id} is not in LATCHKEY_KEYS. Invalid without it: ${made.join(', ')}.`,
      `Append key ${id} to LATCHKEY_KEYS in every process again (docs/operations/keys.md).`,
    )
  })
}

/**
 * Detects a key with the right number but different bytes by recomputing the newest seal of the audit log: the seal is
 * the only value in the database that can be recomputed without knowing a secret of a user or an application.
 */
async function examineSeal(db: Postgres, keys: Keyset): Promise<readonly Finding[]> {
  const last = await readLastSeal(db)
  if (!last) return []
  const links = await readChain(db, last.position - 2, 2)
  const seal = links.at(-1)
  const before = last.position === 1 ? NO_SEAL : links.length === 2 ? links[0]?.hash : undefined
  // The entry or the previous seal was detached with its month: the seal cannot be recomputed.
  if (!seal?.entry || !before) return []
  const { keyId, position } = seal
  if (!keys.byId.has(keyId)) {
    const remedy = `Add key ${keyId} to LATCHKEY_KEYS again: it made the newest seal.`
    return [
      broken(
        'keys',
        `The newest seal of the audit log was made with key ${keyId}, which is not in LATCHKEY_KEYS.`,
        remedy,
      ),
    ]
  }
  if (fits(keys, seal, { previous: before, position }, seal.entry)) return []
  return [
    broken(
      'keys',
      `Key ${keyId} has a different value than before: the newest seal of the audit log does not match it.`,
      `Restore the previous value of key ${keyId} in LATCHKEY_KEYS. If the value is correct, the audit log was changed: run "latchkey audit verify".`,
    ),
  ]
}
