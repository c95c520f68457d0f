/**
 * The table scopes: the catalogue of everything that can be granted. What a scope allows never changes, only its title.
 */
import type { ScopeFacts } from '../../core/applications/settings.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type Scope = {
  readonly name: string
  /** What it allows, as shown to the user who decides. */
  readonly title: string
  /** Highlighted on the consent page, and granted only after a recent sign-in. */
  readonly dangerous: boolean
  /** False: cannot be granted by device flow. */
  readonly deviceFlow: boolean
}

export async function insertScope(tx: Transaction, scope: Scope): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into scopes (name, title, dangerous, device_flow, created_at) values ($1, $2, $3, $4, now())
     on conflict (name) do nothing`,
    [scope.name, scope.title, scope.dangerous, scope.deviceFlow],
  )
  return rowCount === 1
}

/** The names that are not in the catalogue. */
export async function unknownScopes(db: Queryable, names: readonly string[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ name: string }>(
    'select name from unnest($1::text[]) as asked(name) where name not in (select name from scopes)',
    [names],
  )
  return rows.map((row) => row.name)
}

/** Facts for validating an application's settings. */
export async function readScopeFacts(db: Queryable, names: readonly string[]): Promise<ScopeFacts> {
  const { rows } = await db.query<{ name: string; device_flow: boolean | null }>(
    'select asked.name, s.device_flow from unnest($1::text[]) as asked(name) left join scopes s on s.name = asked.name',
    [names],
  )
  const those = (deviceFlow: boolean | null) =>
    rows.filter((row) => row.device_flow === deviceFlow).map(({ name }) => name)
  return { unknown: those(null), notByDevice: those(false) }
}

const SCOPE = 'select s.name, s.title, s.dangerous, s.device_flow as "deviceFlow" from scopes s'

/** In the order of `names`; unknown ones are left out. */
export async function readScopes(db: Queryable, names: readonly string[]): Promise<readonly Scope[]> {
  const { rows } = await db.query<Scope>({
    name: 'read-scopes',
    text: `${SCOPE} join unnest($1::text[]) with ordinality asked(name, place) on asked.name = s.name order by asked.place`,
    values: [names],
  })
  return rows
}

export async function readScopeCatalogue(db: Queryable): Promise<readonly Scope[]> {
  const { rows } = await db.query<Scope>(`${SCOPE} order by s.name`)
  return rows
}

export type CatalogueLine = Scope & {
  /** How many applications may ask for it. */
  readonly applications: number
}

export async function listScopes(db: Queryable): Promise<readonly CatalogueLine[]> {
  const { rows } = await db.query<CatalogueLine>(
    `select s.name, s.title, s.dangerous, s.device_flow as "deviceFlow", coalesce(used.applications, 0) as applications
     from scopes s left join (
       select allowed.name, count(*) as applications from applications a, unnest(a.allowed_scopes) as allowed(name)
       where a.deleted_at is null group by allowed.name) used on used.name = s.name
     order by s.name`,
  )
  return rows
}

export async function saveTitle(tx: Transaction, name: string, title: string): Promise<boolean> {
  const { rowCount } = await tx.query('update scopes set title = $2 where name = $1', [name, title])
  return rowCount === 1
}
