/** The table accounts: subdomain, branding and policy of each account. */
import type { AccountPolicy } from '../../core/accounts/policy.ts'
import { NEW_LOGO_VERSION } from '../applications/logos.ts'
import { announce } from '../grants/changes.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type Account = {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly externalId: string | null
  readonly createdAt: number
  readonly colour: string | null
  /** Its administrators are the operators, as a running process recorded. */
  readonly hasOperators: boolean
  readonly policy: AccountPolicy
}

export type NewAccount = Pick<Account, 'id' | 'slug' | 'name'> & { readonly externalId?: string | null }

/** False when another account has the external id, or has or had the slug. */
export async function insertAccount(tx: Transaction, account: NewAccount): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into accounts (id, slug, name, external_id, created_at) values ($1, $2, $3, $4, now())
     on conflict do nothing`,
    [account.id, account.slug, account.name, account.externalId ?? null],
  )
  return rowCount === 1
}

export type AccountRow = {
  id: string
  slug: string
  name: string
  external_id: string | null
  created_at: number
  colour: string | null
  has_operators: boolean
  device_flow: boolean
  unverified_publishers: boolean
  only_applications: string[] | null
  second_factor_required_at: number | null
}

export const ACCOUNT_COLUMNS = `id, slug, name, external_id, created_at, colour, has_operators, device_flow,
  unverified_publishers, only_applications, second_factor_required_at`

/** A closed account is not found; store/accounts/closing.ts. */
const ACCOUNT = `select ${ACCOUNT_COLUMNS} from accounts where closed_at is null`

export async function findAccount(db: Queryable, slug: string): Promise<Account | null> {
  const { rows } = await db.query<AccountRow>(`${ACCOUNT} and slug = $1`, [slug])
  return rows[0] ? accountFrom(rows[0]) : null
}

/** Also of a closed account: the audit log keeps its events. */
export async function findAccountId(db: Queryable, slug: string): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>('select id from accounts where slug = $1', [slug])
  return rows[0]?.id ?? null
}

/** Saves which account is the operators', for the command line, which may run without OPERATOR_ACCOUNT. */
export async function markOperatorsAccount(db: Queryable, slug: string): Promise<void> {
  await db.query(
    `update accounts set has_operators = (slug = $1)
     where (has_operators or slug = $1) and has_operators <> (slug = $1)`,
    [slug],
  )
}

/** The slug of any account, for testing a subdomain; null while there is none. */
export async function readAnySlug(db: Queryable): Promise<string | null> {
  const { rows } = await db.query<{ slug: string }>(
    'select slug from accounts where closed_at is null order by created_at limit 1',
  )
  return rows[0]?.slug ?? null
}

export async function readAccount(db: Queryable, id: string): Promise<Account | null> {
  const { rows } = await db.query<AccountRow>({ name: 'read-account', text: `${ACCOUNT} and id = $1`, values: [id] })
  return rows[0] ? accountFrom(rows[0]) : null
}

/**
 * The lock that serializes changes of users, roles, policy and branding. It does not block transactions that merely
 * reference the account, as every new grant and session does.
 */
export async function lockAccount(tx: Transaction, id: string): Promise<Account | null> {
  const { rows } = await tx.query<AccountRow>(`${ACCOUNT} and id = $1 for no key update`, [id])
  return rows[0] ? accountFrom(rows[0]) : null
}

export async function savePolicy(tx: Transaction, id: string, policy: AccountPolicy): Promise<void> {
  const { deviceFlow, unverifiedPublishers, onlyApplications, secondFactor } = policy
  await tx.query(
    `update accounts set device_flow = $2, unverified_publishers = $3, only_applications = $4,
       second_factor_required_at = case when $5 then coalesce(second_factor_required_at, now()) end
     where id = $1`,
    [id, deviceFlow, unverifiedPublishers, onlyApplications, secondFactor === 'required'],
  )
}

export type Branding = {
  readonly name: string
  /** `#rrggbb`, in lower case. */
  readonly colour: string | null
  /** A PNG that this service encoded itself; null removes the logo, undefined keeps it. */
  readonly logo: Buffer | null | undefined
}

export async function saveBranding(tx: Transaction, id: string, looks: Branding): Promise<void> {
  await tx.query(
    `update accounts set name = $2, colour = $3, logo = case when $4 then $5::bytea else logo end,
       logo_version = case when not $4 then logo_version when $5::bytea is not null then ${NEW_LOGO_VERSION} end
     where id = $1`,
    [id, looks.name, looks.colour, looks.logo !== undefined, looks.logo ?? null],
  )
}

/** False when another account has the external id. Call under `lockAccount` and the lock of the external id. */
export async function saveAccountNames(
  tx: Transaction,
  id: string,
  { name, externalId }: Pick<Account, 'name' | 'externalId'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update accounts set name = $2, external_id = $3 where id = $1
       and not exists (select from accounts o where o.external_id = $3 and o.id <> $1 and o.closed_at is null)`,
    [id, name, externalId],
  )
  if (rowCount === 1) await announce(tx, { accountId: id })
  return rowCount === 1
}

export async function readAccountLogo(db: Queryable, id: string): Promise<Buffer | null> {
  const { rows } = await db.query<{ logo: Buffer | null }>('select logo from accounts where id = $1', [id])
  return rows[0]?.logo ?? null
}

export function accountFrom(row: AccountRow): Account {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    externalId: row.external_id,
    createdAt: row.created_at,
    colour: row.colour,
    hasOperators: row.has_operators,
    policy: {
      deviceFlow: row.device_flow,
      unverifiedPublishers: row.unverified_publishers,
      onlyApplications: row.only_applications,
      secondFactor: row.second_factor_required_at === null ? 'optional' : 'required',
    },
  }
}
