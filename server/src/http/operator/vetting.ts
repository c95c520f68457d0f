/** Operators' console: applications from the developer console that wait for an operator, and those approved. */
import { MAX_OUTSIDE_GRANTS } from '../../core/applications/vetting.ts'
import { decideVetting } from '../../flows/applications/vetting.ts'
import {
  type OperatorVettingModel,
  operatorVettingPage,
  type VettedApplication,
} from '../../pages/operator/vetting.tsx'
import { type ListedVetting, listRequestedVettings, listVetted } from '../../store/applications/vettings.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'

const NOTICES: readonly OperatorVettingModel['notice'][] = ['vetted', 'withdrawn', 'unchanged']

export const showVettings: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const model = {
    requested: (await listRequestedVettings(context.db)).map(applicationOf),
    vetted: (await listVetted(context.db)).map(applicationOf),
    maxOutsideGrants: MAX_OUTSIDE_GRANTS,
    notice: NOTICES.find((each) => each === fields.get('notice')) ?? null,
  }
  return { page: operatorVettingPage(frame, model) }
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
  const since = vetting.vettedAt ?? vetting.requestedAt ?? 0
  return { id, name, account, scopes, redirects, outsideGrants: vetting.outsideGrants, by: vetting.requestedBy, since }
}
