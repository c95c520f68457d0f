/** Handlers of the connected applications: a user's own, and for administrators those of the whole account. */

import type { Context } from '../../flows/context.ts'
import {
  type ConnectedApplication,
  listAccountGrants,
  listOwnGrants,
  readGrant,
  removeGrant,
} from '../../flows/grants/connected-applications.ts'
import { accountApplicationsPage } from '../../pages/grants/account-applications.tsx'
import { applicationsPage } from '../../pages/grants/applications.tsx'
import type { GrantLine } from '../../pages/grants/grant-line.tsx'
import { removeApplicationPage } from '../../pages/grants/remove-application.tsx'
import { listedGrantColumns } from '../../store/grants/listed.ts'
import { logoAddress } from '../applications/logo.ts'
import { readTableWish } from '../table-wish.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'
import { accessLifetimes } from './access-lifetimes.ts'

export const showApplications: PageHandler<UserRequest> = async (context, request) => {
  const { sessionUser, fields, frame } = request
  const { grants: own, after } = await listOwnGrants(context, sessionUser.id, fields.get('after') ?? null)
  const grants = own.map((grant) => lineOf(context, request, grant, false))
  return { page: applicationsPage(frame, { grants, removed: removedName(context, request), after }) }
}

export const showAccountApplications: PageHandler<UserRequest> = async (context, request) => {
  const { account, fields, frame } = request
  const wish = readTableWish(fields, listedGrantColumns, { sort: 'connected', descending: true })
  const { grants: found, after } = await listAccountGrants(context, account.id, wish)
  const grants = { lines: found.map((grant) => lineOf(context, request, grant, true)), after }
  return { page: accountApplicationsPage(frame, { wish, grants, removed: removedName(context, request) }) }
}

/** The two lists; the list also determines which grants may be removed. */
const LISTS = { own: '/applications', account: '/account/applications' } as const

export function showRemoval(list: keyof typeof LISTS): PageHandler<UserRequest> {
  return async (context, request) => {
    const { sessionUser, fields, frame } = request
    const asAdministrator = list === 'account'
    const grant = await readGrant(context, { by: sessionUser.id, grantId: fields.get('grant') ?? '', asAdministrator })
    if (!grant) return { refusal: 'not_found' }
    const back = LISTS[list]
    const line = lineOf(context, request, grant, asAdministrator)
    return { page: removeApplicationPage(frame, { grant: line, back, action: `${back}/remove` }) }
  }
}

export function remove(list: keyof typeof LISTS): PageHandler<UserRequest> {
  return async (context, { sessionUser, fields }) => {
    const result = await removeGrant(context, {
      by: sessionUser.id,
      grantId: fields.get('grant') ?? '',
      asAdministrator: list === 'account',
      reported: fields.has('report'),
    })
    if (result.outcome === 'not_found') return { refusal: 'not_found' }
    return { seeOther: `${LISTS[list]}?removed=${result.applicationId}` }
  }
}

/** The URL carries an id, not a name, so that a crafted link cannot place its own text on the page. */
function removedName(context: Context, { fields }: UserRequest): string | null {
  return context.applications.find(fields.get('removed') ?? '')?.name ?? null
}

function lineOf(context: Context, { frame }: UserRequest, grant: ConnectedApplication, withUser: boolean): GrantLine {
  const { id, variant, by, keyEnding, lastUsedOn, requestedFrom } = grant
  return {
    id,
    application: grant.application.name,
    publisher: grant.application.publisher,
    logo: logoAddress(grant.application.logo),
    can: grant.can.map(({ title }) => title),
    connectedOn: grant.createdAt,
    by,
    lastUsedOn,
    variant,
    ...accessLifetimes(context.config),
    keyEnding,
    place: context.geoip.find(requestedFrom).placeName(frame.words.language) ?? requestedFrom,
    suspended: grant.application.suspended,
    test: grant.testEndsAt !== null,
    ...(withUser ? { user: grant.email } : {}),
  }
}
