/** Handlers of changes of e-mail addresses that management keys asked for. For administrators. */
import {
  type AddressDecision,
  decideAddresses,
  type ListedChanges,
  readAddressChanges,
} from '../../flows/accounts/change-address.ts'
import type { Context } from '../../flows/context.ts'
import { type AddressesModel, addressesPage } from '../../pages/accounts/addresses.tsx'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'
import { checkedNames } from '../web/fields.ts'

const DECISIONS: readonly AddressDecision[] = ['change', 'keep']

export const showAddresses: PageHandler<UserRequest> = (context, request) => addresses(context, request, null)

export const decideOnAddresses: PageHandler<UserRequest> = async (context, request) => {
  const { sessionUser, fields } = request
  const decision = DECISIONS.find((each) => each === fields.get('decision'))
  const marks = checkedNames(fields, 'change')
  if (!decision) return { refusal: 'invalid_request' }
  if (marks.length === 0) return addresses(context, request, 'none')
  const result = await decideAddresses(context, sessionUser.id, marks, decision)
  if (result.outcome === 'forbidden') return { refusal: 'forbidden' }
  if (result.outcome === 'stale') return addresses(context, request, 'stale')
  if (result.taken.length > 0) return addresses(context, request, 'taken', result.taken)
  return { seeOther: `/account/people/addresses?notice=${decision}` }
}

async function addresses(
  context: Context,
  { account, fields, frame }: UserRequest,
  problem: AddressesModel['problem'],
  taken: readonly string[] = [],
): Promise<PageAnswer> {
  const changes: ListedChanges = await readAddressChanges(context, account.id)
  const notice = DECISIONS.find((each) => each === fields.get('notice')) ?? null
  return { page: addressesPage(frame, { ...changes, notice, problem, taken }), status: problem === null ? 200 : 400 }
}
