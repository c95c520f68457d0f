/** Lists of the management API that the consoles do not have: accounts with their ids, and the audit log in its chain. */
import type { TablePage } from '../../core/table.ts'
import { ACCOUNT_COLUMNS, type Account, type AccountRow, accountFrom } from '../accounts/accounts.ts'
import type { Queryable } from '../postgres/postgres.ts'
import { cutPage, pageClauses, type SortedList } from '../postgres/sorted-list.ts'

const ACCOUNTS: SortedList<'created'> = {
  table: 'accounts a',
  key: 'a.slug',
  columns: { created: 'a.created_at' },
}

export type AccountsWish = {
  /** Slug of the last account of the previous page. */
  readonly after: string | null
  readonly lines: number
  readonly externalId: string | null
  /** Only this account; null: every one. */
  readonly only: string | null
  /** The operators' account as well. */
  readonly operators: boolean
}

/** Oldest first. */
export async function listManagedAccounts(
  db: Queryable,
  operatorAccount: string | null,
  { after, lines, externalId, only, operators }: AccountsWish,
): Promise<TablePage<Account>> {
  const { beyond, order } = pageClauses(ACCOUNTS, { sort: 'created', descending: false, lines }, '$1')
  const { rows } = await db.query<AccountRow>(
    `select ${ACCOUNT_COLUMNS} from accounts a where a.closed_at is null
       and ($5 or not a.has_operators and a.slug is distinct from $2) and ($3::text is null or a.external_id = $3) and ($4::text is null or a.id = $4) and ${beyond} ${order}`,
    [after, operatorAccount, externalId, only, operators],
  )
  return cutPage(rows.map(accountFrom), ({ slug }) => slug, lines)
}

export type ChainedEvent = {
  /** Position in the chain. */
  readonly position: number
  readonly at: number
  readonly kind: string
  readonly actorKind: string
  readonly actorId: string
  readonly via: string
  readonly accountId: string | null
  readonly userId: string | null
  readonly applicationId: string | null
  readonly grantId: string | null
  readonly detail: Readonly<Record<string, unknown>>
  readonly requestId: string | null
}

export type ChainWish = {
  /** Position after which the page starts. */
  readonly after: number
  readonly lines: number
  /** Only events of this account; null: of every one. */
  readonly accountId: string | null
}

/** Positions looked at for one page, so that no page takes long. */
const MAX_SCAN = 20_000

/** Condition over `audit_seals s`: the positions of one page. */
const STRETCH = `s.position > $1 and s.position <= $1 + ${MAX_SCAN}`

/**
 * Events in the order of the chain. It is final: no event turns up before one that was read (store/audit/seals.ts).
 * `after`: the position up to which the chain was read. Leaves out the operators' account.
 */
export async function listChain(
  db: Queryable,
  operatorAccount: string | null,
  { after, lines, accountId }: ChainWish,
): Promise<{ readonly events: readonly ChainedEvent[]; readonly after: number }> {
  const { rows } = await db.query<ChainedEvent & { end: number }>(
    // `offset 0`: one look-up per event, in the partition of its month, until the page is full.
    `with hidden as (select id from accounts where has_operators or slug = $2)
     select (select coalesce(max(s.position), $1) from audit_seals s where ${STRETCH}) as end, found.*
     from (select 1) one left join lateral (
       select s.position, e.at, e.kind, e.actor_kind as "actorKind", e.actor_id as "actorId", e.via,
         e.account_id as "accountId", e.user_id as "userId", e.application_id as "applicationId",
         e.grant_id as "grantId", e.detail, e.request_id as "requestId"
       from audit_seals s cross join lateral (
         select * from audit_events e where e.id = s.event_id and e.at = s.event_at offset 0) e
       where ${STRETCH} and ($3::text is null or e.account_id = $3) and (e.account_id is null or e.account_id not in (select id from hidden))
       order by s.position limit $4) found on true
     order by found.position`,
    [after, operatorAccount, accountId, lines],
  )
  const events = rows.filter(({ position }) => position !== null).map(({ end: _, ...event }) => event)
  const last = events.at(-1)
  return { events, after: events.length === lines && last ? last.position : (rows[0]?.end ?? after) }
}
