/** Developer console: asks the operators to look at an application. For administrators. */
import { MAX_OUTSIDE_GRANTS } from '../../core/applications/vetting.ts'
import { askForVetting } from '../../flows/applications/vetting.ts'
import type { VettingModel } from '../../pages/applications/vetting.tsx'
import type { Vetting } from '../../store/applications/vettings.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'

export const requestVetting: PageHandler<UserRequest> = async (context, { sessionUser, fields }) => {
  const id = fields.get('application') ?? ''
  const { outcome } = await askForVetting(context, sessionUser.id, id)
  if (outcome !== 'requested') return { refusal: outcome }
  return { seeOther: `/developer/application?application=${id}&notice=vetting` }
}

export function vettingOf(vetting: Vetting | null): VettingModel | null {
  return vetting && { ...vetting, maxOutsideGrants: MAX_OUTSIDE_GRANTS }
}
