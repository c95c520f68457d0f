/** The table grants: one row per grant, from which every credential is computed. */
import type { Grant, Holder } from '../core/grant.ts'
import type { Transaction } from './postgres.ts'

type Row = {
  id: string
  account_id: string
  user_id: string
  application_id: string
  variant: Grant['variant']
  scopes: string[]
  key_id: number
  generation: number
  key_generation: number
  issued_at: number | null
  revoked_at: number | null
  user_disabled: boolean
  application_deleted: boolean
}

export type NewGrant = Pick<Grant, 'id' | 'accountId' | 'userId' | 'applicationId' | 'variant' | 'scopes' | 'keyId'> & {
  readonly deviceCodeId: string
}

export async function insertGrant(tx: Transaction, grant: NewGrant): Promise<void> {
  await tx.query(
    `insert into grants (id, account_id, user_id, application_id, variant, scopes, key_id, device_code_id, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, now())`,
    [
      grant.id,
      grant.accountId,
      grant.userId,
      grant.applicationId,
      grant.variant,
      grant.scopes,
      grant.keyId,
      grant.deviceCodeId,
    ],
  )
}

export async function lockGrant(tx: Transaction, id: string): Promise<{ grant: Grant; holder: Holder } | null> {
  const { rows } = await tx.query<Row>({
    name: 'lock-grant',
    text: `select g.id, g.account_id, g.user_id, g.application_id, g.variant, g.scopes, g.key_id, g.generation,
        g.key_generation, g.issued_at, g.revoked_at,
        u.disabled_at is not null as user_disabled, a.deleted_at is not null as application_deleted
      from grants g join users u on u.id = g.user_id join applications a on a.id = g.application_id
      where g.id = $1 for update of g`,
    values: [id],
  })
  const row = rows[0]
  if (!row) return null
  return {
    grant: {
      id: row.id,
      accountId: row.account_id,
      userId: row.user_id,
      applicationId: row.application_id,
      variant: row.variant,
      scopes: row.scopes,
      keyId: row.key_id,
      generation: row.generation,
      keyGeneration: row.key_generation,
      issuedAt: row.issued_at,
      revokedAt: row.revoked_at,
    },
    holder: { userDisabled: row.user_disabled, applicationDeleted: row.application_deleted },
  }
}

export async function saveIssueTime(tx: Transaction, id: string, issuedAt: number): Promise<void> {
  await tx.query({
    name: 'save-issue-time',
    text: 'update grants set issued_at = $2 where id = $1',
    values: [id, new Date(issuedAt)],
  })
}

export async function revokeGrant(tx: Transaction, id: string, why: string): Promise<void> {
  await tx.query('update grants set revoked_at = now(), revoked_why = $2 where id = $1 and revoked_at is null', [
    id,
    why,
  ])
}
