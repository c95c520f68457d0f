/** Operators' console: the search over everything, users, and their connections. */
import { endGrantsOf } from '../../flows/operator/end-grants.ts'
import { searchEverything } from '../../flows/operator/search.ts'
import { operatorGrantsPage } from '../../pages/operator/grants.tsx'
import { personHref } from '../../pages/operator/hrefs.ts'
import { operatorPersonPage } from '../../pages/operator/person.tsx'
import { operatorSearchPage } from '../../pages/operator/search.tsx'
import { findApplication } from '../../store/applications/applications.ts'
import { grantColumns, listEveryGrant } from '../../store/operator/grants.ts'
import { findPerson } from '../../store/operator/search.ts'
import { entryOf } from '../audit/handlers.ts'
import { readTableWish } from '../table-wish.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'

const NEWEST_FIRST = { sort: 'connected', descending: true } as const

const NOTHING = { accounts: [], people: [], applications: [], grants: [], events: [] }

/** Longer than a request id, the longest text that can be found. */
const MAX_SEARCH = 200

export const showSearch: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const text = (fields.get('q') ?? '').trim().slice(0, MAX_SEARCH)
  const { events, ...found } = text === '' ? NOTHING : await searchEverything(context, text)
  return {
    page: operatorSearchPage(frame, { text, ...found, events: events.map((line) => entryOf(line, 'operator')) }),
  }
}

export const showPerson: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const person = await findPerson(context.db, fields.get('user') ?? '')
  if (!person) return { refusal: 'not_found' }
  const wish = { ...readTableWish(fields, grantColumns, NEWEST_FIRST), search: '' }
  const grants = await listEveryGrant(context.db, wish, { of: { userId: person.id }, live: true })
  const notice = fields.get('notice') === 'ended' ? 'ended' : null
  return { page: operatorPersonPage(frame, { ...person, wish, grants, notice }) }
}

export const endConnections: PageHandler<UserRequest> = async (context, { fields, sessionUser }) => {
  const userId = fields.get('user') ?? ''
  const { outcome } = await endGrantsOf(context, sessionUser.id, userId)
  return outcome === 'ended' ? { seeOther: `${personHref(userId)}&notice=ended` } : { refusal: outcome }
}

export const showGrants: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const { db } = context
  const [applicationId, userId] = [fields.get('application'), fields.get('user')]
  const application = applicationId ? await findApplication(db, applicationId) : null
  const person = userId ? await findPerson(db, userId) : null
  const wish = readTableWish(fields, grantColumns, NEWEST_FIRST)
  const live = fields.get('state') !== 'all'
  if (application) {
    const grants = await listEveryGrant(db, wish, { of: { applicationId: application.id }, live })
    const of = { kind: 'application', id: application.id, name: application.name } as const
    return { page: operatorGrantsPage(frame, { of, wish, live, grants }) }
  }
  if (!person) return { refusal: 'not_found' }
  const grants = await listEveryGrant(db, wish, { of: { userId: person.id }, live })
  const of = { kind: 'user', id: person.id, name: person.email } as const
  return { page: operatorGrantsPage(frame, { of, wish, live, grants }) }
}
