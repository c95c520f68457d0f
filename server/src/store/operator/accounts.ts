/** Lists of all accounts and applications for operators, a page at a time. */
import type { AccountLine, ApplicationLine } from '../../core/operator/listed.ts'
import type { Queryable } from '../postgres/postgres.ts'

const PER_PAGE = 50

/** `after`: the cursor for the next page; null on the last page. */
export type Listed<Line> = { readonly lines: readonly Line[]; readonly after: string | null }

const COUNTS = `(select count(*) from users u where u.account_id = a.id and u.disabled_at is null) as people,
  (select count(*) from applications p where p.account_id = a.id and p.deleted_at is null) as applications,
  (select count(*) from grants g where g.account_id = a.id and g.revoked_at is null) as grants`

/** Sorted by slug. `search` is a part of the slug or of the name; empty: all. */
export async function listEveryAccount(
  db: Queryable,
  search: string,
  after: string | null,
): Promise<Listed<AccountLine>> {
  const { rows } = await db.query<AccountLine>(
    `select a.slug, a.name, a.created_at as "createdAt", ${COUNTS} from accounts a
     where ($1 = '' or strpos(a.slug, lower($1)) > 0 or strpos(lower(a.name), lower($1)) > 0)
       and ($2::text is null or a.slug > $2)
     order by a.slug limit $3`,
    [search, after, PER_PAGE + 1],
  )
  return cut(rows, ({ slug }) => slug)
}

export type AccountView = AccountLine & {
  readonly id: string
  readonly administrators: readonly { readonly email: string; readonly disabled: boolean }[]
}

export async function viewAccount(db: Queryable, slug: string): Promise<AccountView | null> {
  const { rows } = await db.query<AccountView>(
    `select a.id, a.slug, a.name, a.created_at as "createdAt", ${COUNTS},
       (select coalesce(jsonb_agg(jsonb_build_object('email', u.email, 'disabled', u.disabled_at is not null)
            order by u.email), '[]')
          from users u where u.account_id = a.id and exists (select from user_roles ur join roles r on r.id = ur.role_id
            where ur.user_id = u.id and r.holds_every_scope)) as administrators
     from accounts a where a.slug = $1`,
    [slug],
  )
  return rows[0] ?? null
}

/** Sorted by name. `search` is a part of the name, or the id; empty: all. */
export async function findEveryApplication(
  db: Queryable,
  search: string,
  after: string | null,
): Promise<Listed<ApplicationLine>> {
  const { rows } = await db.query<ApplicationLine>(
    `select p.id, p.name, a.slug as account, p.created_at as "createdAt", p.suspended_at is not null as suspended,
       (select count(*) from grants g where g.application_id = p.id and g.revoked_at is null) as grants
     from applications p join accounts a on a.id = p.account_id
     where p.deleted_at is null and ($1 = '' or p.id = $1 or strpos(lower(p.name), lower($1)) > 0)
       and ($2::text is null or (p.name, p.id) > (select l.name, l.id from applications l where l.id = $2))
     order by p.name, p.id limit $3`,
    [search, after, PER_PAGE + 1],
  )
  return cut(rows, ({ id }) => id)
}

/** Cuts rows to a page. Queries fetch one row more than a page holds, to know whether there is another page. */
function cut<Line>(rows: readonly Line[], keyOf: (line: Line) => string): Listed<Line> {
  const lines = rows.slice(0, PER_PAGE)
  const last = lines.at(-1)
  return { lines, after: rows.length > PER_PAGE && last ? keyOf(last) : null }
}
