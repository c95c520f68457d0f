/** The operators' queue: reviews, requested and approved vettings, and proposals, as one list. */
import type { QueueKind, QueueLine } from '../../core/reviews/queue.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { APPROVED } from '../applications/vettings.ts'
import type { Queryable } from '../postgres/postgres.ts'
import { cutPage, pageClauses, type SortedList, startingWith } from '../postgres/sorted-list.ts'
import { REVIEW_LINE } from './reviews.ts'

const REVIEW = `select r.id, 'suspension' as kind, r.application_id, r.opened_at, r.closed_at, r.harm from reviews r`
const VETTING = `select 'vetting-' || v.application_id, 'vetting', v.application_id, coalesce(v.requested_at, v.vetted_at),
    v.vetted_at, 0 from application_vettings v`
const PROFILE = `select 'profile-' || p.application_id, 'profile', p.application_id, p.proposed_at, p.declined_at, 0
  from application_proposals p`

/** One part per kind, so that each finds its rows by its own index. */
const QUEUES = {
  open: `${REVIEW} where r.closed_at is null
    union all ${VETTING} where v.requested_at is not null
    union all ${PROFILE} where p.declined_at is null`,
  closed: `${REVIEW} where r.closed_at is not null
    union all ${VETTING} join applications a on a.id = v.application_id where ${APPROVED}
    union all ${PROFILE} where p.declined_at is not null`,
} as const

export type QueueState = keyof typeof QUEUES

/** Of applications that were not deleted. */
const queueOf = (state: QueueState) =>
  `(${QUEUES[state]}) q join applications a on a.id = q.application_id and a.deleted_at is null`

const listOf = (state: QueueState): SortedList<QueueColumn> => ({
  table: queueOf(state),
  key: 'q.id',
  columns: { name: 'lower(a.name) collate "C"', harm: 'q.harm', opened: 'q.opened_at', closed: 'q.closed_at' },
})

export const queueColumns = ['name', 'harm', 'opened', 'closed'] as const
export type QueueColumn = (typeof queueColumns)[number]

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
  const { beyond, order } = pageClauses(listOf(state), wish, '$2')
  // The details are joined to the lines of the page only.
  const { rows } = await db.query<QueueLine>(
    `with page as materialized (
       select q.*, row_number() over () as place from (
         select q.* from ${queueOf(state)}
         where ($4::text is null or q.kind = $4)
           and ($1 = '%' or a.id = $3 or lower(a.name) collate "C" like $1) and ${beyond} ${order}) q)
     select ${REVIEW_LINE}, q.kind, q.id, q.application_id as "applicationId", q.opened_at as "openedAt",
       q.closed_at as "closedAt", v.outside_grants as "outsideGrants", nullif(p.name, a.name) as name,
       p.logo_version is distinct from a.logo_version as logo
     from page q join applications a on a.id = q.application_id join accounts c on c.id = a.account_id
       left join reviews r on r.id = q.id
       left join application_vettings v on q.kind = 'vetting' and v.application_id = a.id
       left join application_proposals p on q.kind = 'profile' and p.application_id = a.id
     order by q.place`,
    [startingWith(wish.search.toLowerCase()), wish.after, wish.search, kind],
  )
  return cutPage(rows, ({ id }) => id, wish.lines)
}

export async function countQueue(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ open: number }>(`select count(*) as open from ${queueOf('open')}`)
  return rows[0]?.open ?? 0
}
