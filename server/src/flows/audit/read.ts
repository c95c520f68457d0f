/**
 * Audit log for display: an account reads its own, an operator all of it; with names of actors and subjects, and seals.
 */
import { visibleDetail } from '../../core/audit/detail.ts'
import type { AuditEntry, Who } from '../../core/audit/entry.ts'
import { findAccountId } from '../../store/accounts/accounts.ts'
import {
  type EventFilter,
  type EventOrder,
  findApplicationIds,
  findUserIds,
  type ListedEvent,
  listEvents,
  readNames,
  readSealedUpTo,
  type SealedUpTo,
} from '../../store/audit/listed.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'

/** Search filter. Null fields do not filter. */
export type AuditWish = {
  /** Restricts to the log of this account; null for an operator, who reads all. */
  readonly accountId: string | null
  /** For operators: slug of one account. */
  readonly account: string | null
  readonly kinds: readonly string[] | null
  /** An e-mail address. */
  readonly person: string | null
  /** Id or name. */
  readonly application: string | null
  /** Id of a request, exactly. */
  readonly request: string | null
  /** From inclusive, until exclusive. */
  readonly from: number | null
  readonly until: number | null
}

/** Without a filter. */
export const EVERY_EVENT: AuditWish = {
  accountId: null,
  account: null,
  kinds: null,
  person: null,
  application: null,
  request: null,
  from: null,
  until: null,
}

/** In `detail`, ids are replaced by names where known. */
export type AuditLine = Omit<ListedEvent, 'actorId'> &
  AuditEntry & {
    /** Null for an operator, if an account reads its own log. */
    readonly actorId: string | null
  }

export type AuditPage = {
  readonly lines: readonly AuditLine[]
  readonly after: number | null
  readonly sealed: SealedUpTo | null
}

const PER_PAGE = 25

export async function readAudit(
  { db }: Pick<Context, 'db'>,
  wish: AuditWish,
  after: string | null,
): Promise<AuditPage> {
  const page = { after: readCursor(after), max: PER_PAGE, order: 'newest_first' } as const
  const [log, sealed] = await Promise.all([readLines(db, wish, page), readSealedUpTo(db, wish.accountId)])
  return { ...log, sealed }
}

/**
 * Start of a day in UTC, written as 2026-11-15. Null if there is no such day, or PostgreSQL does not support the year.
 */
export function readDay(text: string): number | null {
  const ms = /^(?!0000|9999)\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  // `Date.parse` turns 30 February into a day in March.
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text) ? ms : null
}

export const DAY_MS = 24 * 60 * 60 * 1000

/** Reads a cursor from the URL, which may have been edited: anything that is not an event id means the first page. */
export function readCursor(after: string | null): number | null {
  return after !== null && /^[1-9]\d{0,14}$/.test(after) ? Number(after) : null
}

export async function readLines(
  db: Queryable,
  wish: AuditWish,
  page: { readonly after: number | null; readonly max: number; readonly order: EventOrder },
): Promise<Pick<AuditPage, 'lines' | 'after'>> {
  const filter = await resolve(db, wish)
  if (!filter) return { lines: [], after: null }
  const { events, after } = await listEvents(db, filter, page)
  const names = await readNames(db, wish.accountId, idsIn(events))
  return { lines: events.map((event) => lineOf(event, names, wish.accountId !== null)), after }
}

/** Null if it names an unknown account. */
async function resolve(db: Queryable, wish: AuditWish): Promise<EventFilter | null> {
  const { kinds, person, application, request: requestId, from, until } = wish
  const named = wish.accountId === null && wish.account !== null ? await findAccountId(db, wish.account) : undefined
  if (named === null) return null
  const accountId = wish.accountId ?? named ?? null
  const userIds = person === null ? null : await findUserIds(db, accountId, person)
  const applicationIds = application === null ? null : await findApplicationIds(db, application)
  return { accountId, kinds, userIds, applicationIds, requestId, from, until }
}

const ID = /^(?:usr|rol|app|acc|mgk)_[0-9a-z]{12}$/

function idsIn(events: readonly ListedEvent[]): readonly string[] {
  const texts = events.flatMap((event) => [
    event.accountId,
    event.actorId,
    event.userId,
    event.applicationId,
    ...Object.values(event.detail).flat(),
  ])
  return [...new Set(texts.filter((text): text is string => typeof text === 'string' && ID.test(text)))]
}

function lineOf(event: ListedEvent, names: ReadonlyMap<string, string>, toAccount: boolean): AuditLine {
  const nameOf = (id: string | null) => (id === null ? null : (names.get(id) ?? null))
  const named = (value: unknown) => (typeof value === 'string' ? (names.get(value) ?? value) : value)
  const visible = Object.entries(visibleDetail(event.detail, toAccount))
  const application = nameOf(event.applicationId)
  return {
    ...event,
    actorId: toAccount && event.actorKind === 'operator' ? null : event.actorId,
    who: whoIs(event, nameOf),
    person: nameOf(event.userId),
    application,
    account: nameOf(event.accountId),
    detail: Object.fromEntries(
      visible.map(([name, value]) => [name, Array.isArray(value) ? value.map(named) : named(value)]),
    ),
  }
}

/**
 * An account's log names only its own users: an operator has no name there, and a user of another account is an unknown
 * person.
 */
function whoIs({ actorKind, actorId }: ListedEvent, nameOf: (id: string) => string | null): Who {
  const name = nameOf(actorId)
  if (actorKind === 'application') return { is: 'application', name }
  if (actorKind === 'service') return { is: 'service' }
  // A key of the service has no name in an account's log.
  if (actorKind === 'management_key') return name === null ? { is: 'management_key' } : { is: 'application', name }
  if (actorKind === 'anonymous') return { is: 'somebody' }
  return actorKind === 'operator' && name === null ? { is: 'operator' } : { is: 'person', name }
}
