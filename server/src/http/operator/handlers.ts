/** Operators' console: the health of the service, and the accounts and applications of all tenants. */
import { accountOrigin } from '../../flows/accounts/address.ts'
import { readOverview } from '../../flows/operator/overview.ts'
import { operatorAccountPage } from '../../pages/operator/account.tsx'
import { operatorAccountsPage } from '../../pages/operator/accounts.tsx'
import { operatorApplicationsPage } from '../../pages/operator/applications.tsx'
import { operatorOverviewPage } from '../../pages/operator/overview.tsx'
import {
  accountColumns,
  applicationColumns,
  listEveryAccount,
  listEveryApplication,
  viewAccount,
} from '../../store/operator/accounts.ts'
import { readTableWish } from '../table-wish.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'

/** Lines of the queue on the overview page. */
const FIRST_OF_QUEUE = 5

export const showOverview: PageHandler<UserRequest> = async (context, { now, frame }) => {
  const { queue, ...overview } = await readOverview(context)
  return { page: operatorOverviewPage(frame, { ...overview, now, queue: queue.slice(0, FIRST_OF_QUEUE) }) }
}

const BY_NAME = { sort: 'name', descending: false } as const

export const showAccounts: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const wish = readTableWish(fields, accountColumns, BY_NAME)
  return { page: operatorAccountsPage(frame, { wish, accounts: await listEveryAccount(context.db, wish) }) }
}

export const showAccount: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const account = await viewAccount(context.db, fields.get('account') ?? '')
  if (!account) return { refusal: 'not_found' }
  const { host } = new URL(accountOrigin(context, account.slug))
  const wish = readTableWish(fields, applicationColumns, BY_NAME)
  const filter = { account: account.slug, suspended: false }
  const applications = await listEveryApplication(context.db, wish, filter)
  return { page: operatorAccountPage(frame, { ...account, host, wish, applications }) }
}

export const showEveryApplication: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const wish = readTableWish(fields, applicationColumns, BY_NAME)
  const suspended = fields.get('status') === 'suspended'
  const applications = await listEveryApplication(context.db, wish, { account: null, suspended })
  return { page: operatorApplicationsPage(frame, { wish, suspended, applications }) }
}
