/** What waits for an administrator of an account, or fails. */
import { type AccountAttention, type OwnMatter, ownMatters } from '../../core/accounts/attention.ts'
import { BREAK_GLASS_COUNT } from '../../core/provider/provider.ts'
import { ENDPOINT_FAILS } from '../operator/attention.ts'
import type { Queryable } from '../postgres/postgres.ts'
import { countAddressChanges } from './address-changes.ts'
import { ADMINISTRATOR } from './users.ts'

const MAX_NAMED = 10

/** Conditions over `applications a`. `$2`: id of the key that signs now. */
const CONDITIONS: Readonly<Record<OwnMatter, string>> = {
  suspended: 'a.suspended_at is not null',
  warned: `a.suspended_at is null and exists (select from reviews r
    where r.application_id = a.id and r.closed_at is null and r.warned_at is not null)`,
  webhooks: `exists (select from webhook_endpoints w
    where w.application_id = a.id and w.disabled_at is null and ${ENDPOINT_FAILS})`,
  webhook_secret: `exists (select from webhook_endpoints w
    where w.application_id = a.id and w.disabled_at is null and w.key_id <> $2)`,
  declined: 'exists (select from application_proposals p where p.application_id = a.id and p.declined_at is not null)',
}

type Matter = AccountAttention['applications'][number]

/** `operators`: it is the operators' account, which requires a second factor of everybody. */
export async function readAccountAttention(
  db: Queryable,
  account: { readonly id: string; readonly operators: boolean },
  signingKeyId: number,
): Promise<AccountAttention> {
  const matters = ownMatters.map(
    (matter, rank) =>
      `select a.id, a.name, '${matter}' as matter, ${rank} as rank from applications a
       where a.account_id = $1 and a.deleted_at is null and ${CONDITIONS[matter]}`,
  )
  const { rows } = await db.query<Matter & { readonly total: number }>(
    `select id, name, matter, count(*) over () as total from (${matters.join(' union all ')}) waiting
     order by rank, name, id limit ${MAX_NAMED}`,
    [account.id, signingKeyId],
  )
  const lacking = await db.query<{ lacking: number }>(
    `select count(*) as lacking from users u join accounts c on c.id = u.account_id
     where u.account_id = $1 and u.disabled_at is null and u.password_digest is not null
       and not exists (select from passkeys p where p.user_id = u.id)
       and not exists (select from authenticators t where t.user_id = u.id)
       and ($2 or c.second_factor_required_at is not null or u.id in (select ur.user_id
         from roles r join user_roles ur on ur.role_id = r.id where r.account_id = $1 and r.holds_every_scope))`,
    [account.id, account.operators],
  )
  const few = await db.query(
    `select from identity_providers i where i.account_id = $1 and i.state = 'required'
       and (select count(*) from users u where u.id = any(i.break_glass) and u.account_id = i.account_id
              and u.disabled_at is null and ${ADMINISTRATOR}) < ${BREAK_GLASS_COUNT}`,
    [account.id],
  )
  return {
    applications: rows.map(({ id, name, matter }) => ({ id, name, matter })),
    further: (rows[0]?.total ?? 0) - rows.length,
    withoutSecondFactor: lacking.rows[0]?.lacking ?? 0,
    addressChanges: await countAddressChanges(db, account.id),
    fewEmergencyAdministrators: few.rowCount === 1,
  }
}
