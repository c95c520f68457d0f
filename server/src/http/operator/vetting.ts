/** Operators' console: applications from the developer console that wait for an operator, and those approved. */
import { MAX_OUTSIDE_GRANTS } from '../../core/applications/vetting.ts'
import { decideVetting } from '../../flows/applications/vetting.ts'
import { type VettedApplication, vettedApplicationPage } from '../../pages/operator/vetted-application.tsx'
import { type OperatorVettingModel, operatorVettingPage } from '../../pages/operator/vetting.tsx'
import {
  findListedVetting,
  type ListedVetting,
  listVettings,
  vettingColumns,
} from '../../store/applications/vettings.ts'
import { readTableWish } from '../table-wish.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'

const NOTICES: readonly OperatorVettingModel['notice'][] = ['vetted', 'withdrawn', 'unchanged']

/** The longest waiting first, and those approved last first. */
const USUAL_ORDER = {
  requested: { sort: 'since', descending: false },
  vetted: { sort: 'since', descending: true },
} as const

export const showVettings: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const filter = fields.get('filter') === 'vetted' ? 'vetted' : 'requested'
  const wish = readTableWish(fields, vettingColumns, USUAL_ORDER[filter])
  const { lines, after } = await listVettings(context.db, filter, wish)
  const model = {
    filter,
    wish,
    applications: { lines: lines.map(applicationOf), after },
    maxOutsideGrants: MAX_OUTSIDE_GRANTS,
    notice: NOTICES.find((each) => each === fields.get('notice')) ?? null,
  } as const
  return { page: operatorVettingPage(frame, model) }
}

export const showVetting: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const vetting = await findListedVetting(context.db, fields.get('application') ?? '')
  if (!vetting) return { refusal: 'not_found' }
  const model = { application: applicationOf(vetting), maxOutsideGrants: MAX_OUTSIDE_GRANTS }
  return { page: vettedApplicationPage(frame, model) }
}

export const approveApplication: PageHandler<UserRequest> = (context, request) => decided(context, request, true)

export const withdrawApproval: PageHandler<UserRequest> = (context, request) => decided(context, request, false)

async function decided(
  context: Parameters<PageHandler<UserRequest>>[0],
  { fields, sessionUser }: UserRequest,
  vetted: boolean,
): ReturnType<PageHandler<UserRequest>> {
  const { outcome } = await decideVetting(context, sessionUser.id, fields.get('application') ?? '', vetted)
  if (outcome === 'not_found' || outcome === 'forbidden') return { refusal: outcome }
  return { seeOther: `/operator/vetting?notice=${outcome}` }
}

function applicationOf(vetting: ListedVetting): VettedApplication {
  const { applicationId: id, name, accountSlug: account, scopes, redirectUris: redirects } = vetting
  const { outsideGrants, requestedBy: by, vettedAt, requestedAt } = vetting
  const vetted = vettedAt !== null
  return { id, name, account, scopes, redirects, outsideGrants, by, vetted, since: vettedAt ?? requestedAt ?? 0 }
}
