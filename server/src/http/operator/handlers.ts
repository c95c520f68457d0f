/** Operators' console: the health of the service, and the accounts and applications of all tenants. */
import { accountOrigin } from '../../flows/accounts/address.ts'
import { readEveryAccount } from '../../flows/operator/accounts.ts'
import { readOverview } from '../../flows/operator/overview.ts'
import { operatorAccountPage } from '../../pages/operator/account.tsx'
import { operatorAccountsPage } from '../../pages/operator/accounts.tsx'
import { operatorApplicationsPage } from '../../pages/operator/applications.tsx'
import { operatorOverviewPage } from '../../pages/operator/overview.tsx'
import { findEveryApplication, listEveryAccount } from '../../store/operator/accounts.ts'
import type { FormFields } from '../parameters.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'

/** Number of open reviews shown on the overview page. */
const FIRST_REVIEWS = 5

export const showOverview: PageHandler<UserRequest> = async (context, { now, frame }) => {
  const { reviews, ...overview } = await readOverview(context)
  const first = reviews.slice(0, FIRST_REVIEWS)
  return { page: operatorOverviewPage(frame, { ...overview, now, reviews: first, openReviews: reviews.length }) }
}

export const showAccounts: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const { search, after } = readSearch(fields)
  const { lines, ...more } = await listEveryAccount(context.db, search, after)
  return { page: operatorAccountsPage(frame, { search, accounts: lines, ...more }) }
}

export const showAccount: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const account = await readEveryAccount(context, fields.get('account') ?? '')
  if (!account) return { refusal: 'not_found' }
  const { slug, name, createdAt, people, grants, administrators, ownApplications } = account
  const { host } = new URL(accountOrigin(context, slug))
  const applications = ownApplications.map((each) => ({ ...each, account: null }))
  return {
    page: operatorAccountPage(frame, { slug, name, host, createdAt, people, grants, administrators, applications }),
  }
}

export const showEveryApplication: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const { search, after } = readSearch(fields)
  const { lines, ...more } = await findEveryApplication(context.db, search, after)
  return { page: operatorApplicationsPage(frame, { search, applications: lines, ...more }) }
}

function readSearch(fields: FormFields): { search: string; after: string | null } {
  return { search: (fields.get('q') ?? '').trim().slice(0, 100), after: fields.get('after') || null }
}
