/** The operators' queue: reviews, requested and approved vettings, and proposals, as one list. */
import type { QueueKind, QueueLine } from '../../core/reviews/queue.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { APPROVED } from '../applications/vettings.ts'
import type { Queryable } from '../postgres/postgres.ts'
import { cutPage, pageClauses, type SortedList, startingWith } from '../postgres/sorted-list.ts'
import { REVIEW_LINE } from './reviews.ts'

const QUEUE = `(select r.id, 'suspension' as kind, r.application_id, r.opened_at, r.closed_at, r.harm from reviews r
    union all
    select 'vetting-' || v.application_id, 'vetting', v.application_id, coalesce(v.requested_at, v.vetted_at), v.vetted_at, 0
    from application_vettings v join applications a on a.id = v.application_id
    where v.requested_at is not null or ${APPROVED}
    union all
    select 'profile-' || p.application_id, 'profile', p.application_id, p.proposed_at, p.declined_at, 0
    from application_proposals p) q
  join applications a on a.id = q.application_id`

const LIST: SortedList<QueueColumn> = {
  table: QUEUE,
  key: 'q.id',
  columns: { name: 'lower(a.name) collate "C"', harm: 'q.harm', opened: 'q.opened_at', closed: 'q.closed_at' },
}

export const queueColumns = ['name', 'harm', 'opened', 'closed'] as const
export type QueueColumn = (typeof queueColumns)[number]

const STATES = { open: 'q.closed_at is null', closed: 'q.closed_at is not null' } as const

export type QueueState = keyof typeof STATES

/** Most harmful first, and those closed last first. */
export const usualQueueOrder = {
  open: { sort: 'harm', descending: true },
  closed: { sort: 'closed', descending: true },
} as const

/** `kind`: null for all. `search`: the beginning of the application's name, or its whole id. */
export async function listQueue(
  db: Queryable,
  state: QueueState,
  kind: QueueKind | null = null,
  wish: TableWish<QueueColumn> = { search: '', after: null, ...usualQueueOrder[state] },
): Promise<TablePage<QueueLine>> {
  const { beyond, order } = pageClauses(LIST, wish, '$2')
  const { rows } = await db.query<QueueLine>(
    `select ${REVIEW_LINE}, q.kind, q.id, q.application_id as "applicationId", q.opened_at as "openedAt",
       q.closed_at as "closedAt", v.outside_grants as "outsideGrants", nullif(p.name, a.name) as name,
       p.logo_version is distinct from a.logo_version as logo
     from ${QUEUE} join accounts c on c.id = a.account_id
       left join reviews r on r.id = q.id
       left join application_vettings v on q.kind = 'vetting' and v.application_id = a.id
       left join application_proposals p on q.kind = 'profile' and p.application_id = a.id
     where ${STATES[state]} and a.deleted_at is null and ($4::text is null or q.kind = $4)
       and ($1 = '%' or a.id = $3 or lower(a.name) collate "C" like $1) and ${beyond} ${order}`,
    [startingWith(wish.search.toLowerCase()), wish.after, wish.search, kind],
  )
  return cutPage(rows, ({ id }) => id, wish.lines)
}

export async function countQueue(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ open: number }>(
    `select count(*) as open from ${QUEUE} where ${STATES.open} and a.deleted_at is null`,
  )
  return rows[0]?.open ?? 0
}
