/** Lists of all accounts and applications for operators. */
import type { AccountLine, ApplicationLine } from '../../core/operator/listed.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import type { Queryable } from '../postgres/postgres.ts'
import { countGrants, cutPage, pageClauses, type SortedList, startingWith } from '../postgres/sorted-list.ts'

const COUNTS = `(select count(*) from users u where u.account_id = a.id and u.disabled_at is null) as people,
  (select count(*) from applications p where p.account_id = a.id and p.deleted_at is null) as applications,
  ${countGrants('g.account_id = a.id')} as grants`

const ACCOUNTS: SortedList<AccountColumn> = {
  table: 'accounts a',
  key: 'a.slug',
  columns: { name: 'lower(a.name) collate "C"', address: 'a.slug collate "C"', created: 'a.created_at' },
}

export const accountColumns = ['name', 'address', 'created'] as const
export type AccountColumn = (typeof accountColumns)[number]

/** `search`: the beginning of the slug or of the name. */
export async function listEveryAccount(db: Queryable, wish: TableWish<AccountColumn>): Promise<TablePage<AccountLine>> {
  const { beyond, order } = pageClauses(ACCOUNTS, wish, '$2')
  const { rows } = await db.query<AccountLine>(
    `select a.slug, a.name, a.created_at as "createdAt", ${COUNTS} from accounts a
     where a.closed_at is null and ($1 = '%' or a.slug collate "C" like $1 or lower(a.name) collate "C" like $1) and ${beyond} ${order}`,
    [startingWith(wish.search.toLowerCase()), wish.after],
  )
  return cutPage(rows, ({ slug }) => slug)
}

export type AccountView = AccountLine & {
  readonly id: string
  /** The first fifty. */
  readonly administrators: readonly { readonly email: string; readonly disabled: boolean }[]
}

export async function viewAccount(db: Queryable, slug: string): Promise<AccountView | null> {
  const { rows } = await db.query<AccountView>(
    `select a.id, a.slug, a.name, a.created_at as "createdAt", ${COUNTS},
       (select coalesce(jsonb_agg(jsonb_build_object('email', first.email, 'disabled', first.disabled)), '[]')
          from (select u.email, u.disabled_at is not null as disabled
            from roles r join user_roles ur on ur.role_id = r.id join users u on u.id = ur.user_id
            where r.account_id = a.id and r.holds_every_scope group by u.id order by u.email limit 50) first) as administrators
     from accounts a where a.slug = $1 and a.closed_at is null`,
    [slug],
  )
  return rows[0] ?? null
}

const APPLICATIONS: SortedList<ApplicationColumn> = {
  table: 'applications p',
  key: 'p.id',
  columns: { name: 'lower(p.name) collate "C"', created: 'p.created_at' },
}

export const applicationColumns = ['name', 'created'] as const
export type ApplicationColumn = (typeof applicationColumns)[number]

export type ApplicationFilter = {
  /** Only those of this account; null: of every account. */
  readonly account: string | null
  readonly suspended: boolean
}

/** `search`: the beginning of the name, or the whole id. */
export async function listEveryApplication(
  db: Queryable,
  wish: TableWish<ApplicationColumn>,
  { account, suspended }: ApplicationFilter,
): Promise<TablePage<ApplicationLine>> {
  const { beyond, order } = pageClauses(APPLICATIONS, wish, '$2')
  const { rows } = await db.query<ApplicationLine>(
    `select p.id, p.name, a.slug as account, p.created_at as "createdAt", p.suspended_at is not null as suspended,
       ${countGrants('g.application_id = p.id')} as grants
     from applications p join accounts a on a.id = p.account_id
     where p.deleted_at is null and ($1 = '%' or p.id = $3 or lower(p.name) collate "C" like $1)
       and ($4::text is null or p.account_id = (select c.id from accounts c where c.slug = $4))
       and (not $5 or p.suspended_at is not null) and ${beyond} ${order}`,
    [startingWith(wish.search.toLowerCase()), wish.after, wish.search, account, suspended],
  )
  return cutPage(rows, ({ id }) => id)
}
