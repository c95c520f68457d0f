/** The tables identity_providers and identity_provider_roles: the identity provider of an account, and its roles. */
import type { Admission, ProviderState } from '../../core/provider/provider.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type RoleValue = { readonly roleId: string; readonly value: string }

export type IdentityProvider = {
  readonly accountId: string
  readonly state: ProviderState
  readonly issuer: string
  readonly clientId: string
  readonly encryptedSecret: Buffer
  readonly domains: readonly string[]
  readonly admission: Admission
  readonly defaultRole: string | null
  readonly roleClaim: string | null
  /** Sorted. */
  readonly roleValues: readonly RoleValue[]
  /** Ids of users, sorted. */
  readonly breakGlass: readonly string[]
}

export async function findProvider(db: Queryable, accountId: string): Promise<IdentityProvider | null> {
  const { rows } = await db.query<IdentityProvider>(
    `select i.account_id as "accountId", i.state, i.issuer, i.client_id as "clientId", i.client_secret as "encryptedSecret",
       i.domains, i.admission, i.default_role as "defaultRole", i.role_claim as "roleClaim", i.break_glass as "breakGlass",
       (select coalesce(jsonb_agg(jsonb_build_object('roleId', v.role_id, 'value', v.value) order by v.role_id), '[]')
         from identity_provider_roles v join roles r on r.id = v.role_id where r.account_id = i.account_id) as "roleValues"
     from identity_providers i where i.account_id = $1`,
    [accountId],
  )
  return rows[0] ?? null
}

/** Call under `lockAccount`. The roles must be of the account. */
export async function saveProvider(tx: Transaction, provider: IdentityProvider): Promise<void> {
  const { accountId, roleValues } = provider
  await tx.query(
    `insert into identity_providers (account_id, state, issuer, client_id, client_secret, domains, admission,
       default_role, role_claim, break_glass)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (account_id) do update set state = excluded.state, issuer = excluded.issuer,
       client_id = excluded.client_id, client_secret = excluded.client_secret, domains = excluded.domains,
       admission = excluded.admission, default_role = excluded.default_role, role_claim = excluded.role_claim,
       break_glass = excluded.break_glass`,
    [
      accountId,
      provider.state,
      provider.issuer,
      provider.clientId,
      provider.encryptedSecret,
      provider.domains,
      provider.admission,
      provider.defaultRole,
      provider.roleClaim,
      provider.breakGlass,
    ],
  )
  await tx.query('delete from identity_provider_roles v using roles r where r.id = v.role_id and r.account_id = $1', [
    accountId,
  ])
  await tx.query(`insert into identity_provider_roles (role_id, value) select * from unnest($1::text[], $2::text[])`, [
    roleValues.map(({ roleId }) => roleId),
    roleValues.map(({ value }) => value),
  ])
}

/** Sessions of a user of the identity provider, by subject or by the provider's own session. */
export type LoggedOut = { readonly subject: string | null; readonly sid: string | null }

/** Ends those sessions, and returns whose they were. */
export async function endSessionsOf(
  tx: Transaction,
  accountId: string,
  issuer: string,
  { subject, sid }: LoggedOut,
): Promise<readonly string[]> {
  const { rows } = await tx.query<{ userId: string }>(
    `delete from sessions s using users u
     where u.id = s.user_id and u.account_id = $1 and u.origin = 'provider' and u.issuer = $2
       and ($3::text is null or u.subject = $3) and ($4::text is null or s.provider_sid = $4)
       and coalesce($3, $4) is not null
     returning s.user_id as "userId"`,
    [accountId, issuer, subject, sid],
  )
  return rows.map(({ userId }) => userId)
}
