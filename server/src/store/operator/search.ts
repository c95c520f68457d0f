/** Search over the whole installation, for operators: each kind by its id, and by what its name begins with. */
import type { PersonLine } from '../../core/operator/listed.ts'
import type { Queryable } from '../postgres/postgres.ts'
import { startingWith } from '../postgres/sorted-list.ts'

/** Of each kind. The lists of the console show all. */
const MAX_FOUND = 10

export type FoundAccount = { readonly slug: string; readonly name: string }

export async function findAccounts(db: Queryable, text: string): Promise<readonly FoundAccount[]> {
  const { rows } = await db.query<FoundAccount>(
    `select slug, name from (
       (select a.slug, a.name from accounts a where a.id = $2 and a.closed_at is null)
       union (select a.slug, a.name from accounts a where a.slug collate "C" like $1 and a.closed_at is null
         order by a.slug collate "C" limit ${MAX_FOUND})
       union (select a.slug, a.name from accounts a where lower(a.name) collate "C" like $1 and a.closed_at is null
         order by lower(a.name) collate "C", a.slug limit ${MAX_FOUND})) found
     order by slug <> lower($2), slug limit ${MAX_FOUND}`,
    [startingWith(text.toLowerCase()), text],
  )
  return rows
}

const PERSON = `select u.id, u.email, c.slug as account, u.created_at as "createdAt", u.disabled_at is not null as disabled
  from users u join accounts c on c.id = u.account_id`

/** By id, or by the beginning of the e-mail address. */
export async function findPeople(db: Queryable, text: string): Promise<readonly PersonLine[]> {
  const { rows } = await db.query<PersonLine>(
    `(${PERSON} where u.id = $2)
     union all (${PERSON} where u.email collate "C" like $1 order by u.email collate "C", u.id limit ${MAX_FOUND})`,
    [startingWith(text.toLowerCase()), text],
  )
  return rows
}

export async function findPerson(db: Queryable, id: string): Promise<PersonLine | null> {
  const { rows } = await db.query<PersonLine>(`${PERSON} where u.id = $1`, [id])
  return rows[0] ?? null
}

export type FoundApplication = {
  readonly id: string
  readonly name: string
  readonly account: string
  readonly suspended: boolean
}

export async function findApplications(db: Queryable, text: string): Promise<readonly FoundApplication[]> {
  const found = `select p.id, p.name, a.slug as account, p.suspended_at is not null as suspended
    from applications p join accounts a on a.id = p.account_id where p.deleted_at is null`
  const { rows } = await db.query<FoundApplication>(
    `(${found} and p.id = $2)
     union all (${found} and lower(p.name) collate "C" like $1
       order by lower(p.name) collate "C", p.id limit ${MAX_FOUND})`,
    [startingWith(text.toLowerCase()), text],
  )
  return rows
}
