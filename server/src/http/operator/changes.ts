/** Operators' console: proposed names and logos that wait for an operator. */

import { acceptAsOperator, declineAsOperator } from '../../flows/applications/proposals.ts'
import type { Context } from '../../flows/context.ts'
import { type OperatorChangeModel, operatorChangePage, type PendingChange } from '../../pages/operator/change.tsx'
import { type OperatorChangesModel, operatorChangesPage } from '../../pages/operator/changes.tsx'
import { PICTURE_TYPE } from '../../pictures/picture.ts'
import {
  findListedProposal,
  type ListedProposal,
  listProposals,
  proposalColumns,
  readProposedLogo,
} from '../../store/applications/proposals.ts'
import { logoAddress } from '../applications/logo.ts'
import type { FormFields } from '../parameters.ts'
import { readTableWish } from '../table-wish.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'

const NOTICES: readonly OperatorChangesModel['notice'][] = ['accepted', 'declined']

export const showChanges: PageHandler<UserRequest> = async (context, { fields, frame }) => {
  const wish = readTableWish(fields, proposalColumns, { sort: 'since', descending: false })
  const { lines, after } = await listProposals(context.db, wish)
  const notice = NOTICES.find((each) => each === fields.get('notice')) ?? null
  return { page: operatorChangesPage(frame, { wish, changes: { lines: lines.map(changeOf), after }, notice }) }
}

export const showChange: PageHandler<UserRequest> = (context, request) => changePage(context, request, null)

export const showProposedLogo: PageHandler<UserRequest> = async (context, { fields }) => {
  const bytes = await readProposedLogo(context.db, fields.get('application') ?? '', versionIn(fields))
  return bytes ? { bytes, type: PICTURE_TYPE, lasting: false } : { refusal: 'not_found' }
}

export const acceptChange: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser } = request
  const { outcome } = await acceptAsOperator(
    context,
    sessionUser.id,
    fields.get('application') ?? '',
    versionIn(fields),
  )
  if (outcome === 'accepted') return { seeOther: '/operator/changes?notice=accepted' }
  if (outcome === 'stale' || outcome === 'taken') return changePage(context, request, outcome)
  return { refusal: outcome }
}

export const declineChange: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser } = request
  const applicationId = fields.get('application') ?? ''
  const declining = { applicationId, version: versionIn(fields), words: fields.get('words') ?? '' }
  const { outcome } = await declineAsOperator(context, sessionUser.id, declining)
  if (outcome === 'declined') return { seeOther: '/operator/changes?notice=declined' }
  if (outcome === 'stale' || outcome === 'no_words') return changePage(context, request, outcome)
  return { refusal: outcome }
}

/** 0 stands for a malformed version: versions are never 0. */
function versionIn(fields: FormFields): number {
  const text = fields.get('version') ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) : 0
}

async function changePage(
  context: Context,
  { fields, frame }: UserRequest,
  problem: OperatorChangeModel['problem'],
): Promise<PageAnswer> {
  const proposal = await findListedProposal(context.db, fields.get('application') ?? '')
  if (!proposal) return { refusal: 'not_found' }
  const page = operatorChangePage(frame, { change: changeOf(proposal), problem })
  return { page, status: problem === null ? 200 : 400 }
}

function changeOf(proposal: ListedProposal): PendingChange {
  const { applicationId: id, version, logoVersion, logoVersionNow } = proposal
  const now = logoAddress(logoVersionNow === null ? null : { applicationId: id, version: logoVersionNow })
  const proposed = `/operator/changes/logo?application=${id}&version=${version}`
  return {
    id,
    version,
    account: proposal.accountSlug,
    publisher: proposal.publisher,
    nameNow: proposal.nameNow,
    logoNow: now,
    name: proposal.name,
    logo: logoVersion === null ? null : logoVersion === logoVersionNow ? now : proposed,
    since: proposal.proposedAt,
    by: proposal.proposedBy,
  }
}
