/** Developer console: an application's logo, and the proposal that waits for an operator. For administrators. */
import { changeLogo } from '../../flows/applications/logo.ts'
import { withdrawProposal } from '../../flows/applications/proposals.ts'
import { type ApplicationLogoModel, applicationLogoPage } from '../../pages/applications/logo.tsx'
import type { ProposalModel } from '../../pages/applications/proposal.tsx'
import { rewritePicture } from '../../pictures/picture.ts'
import type { OwnApplication } from '../../store/applications/own.ts'
import { readOwnApplication } from '../../store/applications/own.ts'
import type { Proposal } from '../../store/applications/proposals.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'
import { logoAddress } from './logo.ts'

/** Users of the application's own account see its logo even if its publisher is not verified. */
export function ownLogo(applicationId: string, version: string | null): string | null {
  return logoAddress(version === null ? null : { applicationId, version })
}

/** Holds only what differs from the current name and logo. */
export function proposalOf(application: OwnApplication, proposal: Proposal | null): ProposalModel | null {
  if (!proposal) return null
  const { name, logoVersion, proposedAt: since, declinedReason } = proposal
  return {
    name: name === application.name ? null : name,
    logo: logoVersion === application.logoVersion ? null : { address: ownLogo(application.id, logoVersion) },
    since,
    declinedReason,
  }
}

export const showLogoSettings: PageHandler<UserRequest> = (context, request) => logoPage(context, request, null)

export const saveLogo: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields, file } = request
  const id = fields.get('application') ?? ''
  if (!(await readOwnApplication(context.db, account.id, id))) return { refusal: 'not_found' }
  const uploaded = file && (await rewritePicture(file))
  if (uploaded && 'problem' in uploaded) return logoPage(context, request, uploaded.problem)
  if (!uploaded && !fields.has('remove_logo')) return logoPage(context, request, 'none')
  const { outcome } = await changeLogo(context, sessionUser.id, id, uploaded?.picture ?? null)
  if (outcome === 'too_large') return logoPage(context, request, { kind: 'bytes' })
  if (outcome === 'not_found' || outcome === 'forbidden') return { refusal: outcome }
  // No notice for a proposal: the page itself shows it for as long as it waits.
  return { seeOther: `/developer/application?application=${id}${outcome === 'saved' ? '&notice=logo' : ''}` }
}

export const withdraw: PageHandler<UserRequest> = async (context, { sessionUser, fields }) => {
  const id = fields.get('application') ?? ''
  const { outcome } = await withdrawProposal(context, sessionUser.id, id)
  if (outcome !== 'withdrawn') return { refusal: outcome }
  return { seeOther: `/developer/application?application=${id}&notice=withdrawn` }
}

async function logoPage(
  context: Parameters<typeof showLogoSettings>[0],
  { account, fields, frame }: UserRequest,
  problem: ApplicationLogoModel['problem'],
): Promise<PageAnswer> {
  const application = await readOwnApplication(context.db, account.id, fields.get('application') ?? '')
  if (!application) return { refusal: 'not_found' }
  const { id, name, logoVersion, publisher, vouchedFor: secondLook } = application
  const unverified = publisher.status === 'unverified'
  const model = { id, name, logo: ownLogo(id, logoVersion), unverified, secondLook, problem }
  return { page: applicationLogoPage(frame, model), status: problem === null ? 200 : 400 }
}
