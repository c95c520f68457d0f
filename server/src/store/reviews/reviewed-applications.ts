/** An application as operators see it: its account, its number of grants and its history. */
import type { Application, Publisher } from '../../core/applications/application.ts'
import { RESTORABLE_MS, type ReviewedApplication, type TimelineEvent } from '../../core/reviews/review.ts'
import { publisherFrom } from '../applications/applications.ts'
import { LONG_QUERY, type Queryable } from '../postgres/postgres.ts'
import { revokingDecisions } from './decisions.ts'
import { OPEN_REVIEW, SEEN } from './reviews.ts'

type Found = Pick<ReviewedApplication, 'account' | 'createdAt' | 'grants' | 'restorable'> &
  Pick<Application, 'id' | 'name' | 'publisher' | 'suspended' | 'deviceFlow' | 'public' | 'pollIntervalSeconds'> & {
    /** `SEEN`. */
    readonly seen: string
    readonly readAt: number
  }

type Row = Omit<Found, 'account' | 'publisher'> & {
  slug: string
  account_name: string
  publisher: string | null
  publisher_status: Publisher['status']
}

export async function findReviewedApplication(db: Queryable, id: string): Promise<Found | null> {
  const { rows } = await db.query<Row>({
    ...LONG_QUERY,
    name: 'find-reviewed-application',
    text: `select a.id, a.name, a.created_at as "createdAt", a.publisher, a.publisher_status,
       a.suspended_at is not null as suspended, a.device_flow as "deviceFlow", a.public_client as public,
       a.poll_interval_seconds as "pollIntervalSeconds", c.slug, c.name as account_name,
       (select count(*) from grants g where g.application_id = a.id and g.revoked_at is null) as grants,
       (select count(*) from grants g where g.revoked_by_decision in (${revokingDecisions('a.id', RESTORABLE_MS)})) as restorable,
       ${SEEN} as seen, now() as "readAt"
     from applications a join accounts c on c.id = a.account_id ${OPEN_REVIEW}
     where a.id = $1 and a.deleted_at is null`,
    values: [id],
  })
  const [row] = rows
  if (!row) return null
  const { slug, account_name, publisher, publisher_status, ...rest } = row
  return {
    ...rest,
    account: { slug, name: account_name },
    publisher: publisherFrom({ publisher, publisher_status }),
  }
}

/**
 * The newest events first; the audit log has all. Names the application's developers and operators, but not users who reported it.
 * Excludes what users do with their own codes and grants.
 */
export async function readTimeline(db: Queryable, applicationId: string): Promise<readonly TimelineEvent[]> {
  const { rows } = await db.query<TimelineEvent>({
    name: 'read-timeline',
    text: `select e.at, e.kind, u.email as by, e.detail
     from audit_events e join applications a on a.id = e.application_id
       left join users u on u.id = e.actor_id and (u.account_id = a.account_id or e.actor_kind = 'operator')
         and e.kind not in ('code.reported', 'application.reported', 'credential.reported', 'code.crowd')
     where e.application_id = $1 and (e.kind like 'application.%' or e.kind like 'review.%'
       or e.kind in ('code.reported', 'credential.reported', 'code.crowd'))
     order by e.at desc, e.id desc limit 30`,
    values: [applicationId],
  })
  return rows
}
