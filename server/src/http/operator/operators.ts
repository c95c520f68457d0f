/** Operators' console: changes of operators that wait for a second operator. */
import type { Context } from '../../flows/context.ts'
import { confirmOperatorChange, listOperatorChanges, rejectOperatorChange } from '../../flows/operator/decide-change.ts'
import { type OperatorsModel, operatorsPage } from '../../pages/operator/operators.tsx'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'

export const showOperators: PageHandler<UserRequest> = (context, request) => answerPage(context, request, null)

export const confirmOperator: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser } = request
  const { outcome } = await confirmOperatorChange(context, sessionUser.id, fields.get('change') ?? '')
  if (outcome === 'confirmed') return toOperators(outcome)
  if (outcome === 'forbidden' || outcome === 'not_found') return { refusal: outcome }
  return answerPage(context, request, outcome)
}

export const rejectOperator: PageHandler<UserRequest> = async (context, { fields, sessionUser }) => {
  const { outcome } = await rejectOperatorChange(context, sessionUser.id, fields.get('change') ?? '')
  return outcome === 'declined' || outcome === 'withdrawn' ? toOperators(outcome) : { refusal: outcome }
}

function toOperators(notice: NonNullable<OperatorsModel['notice']>): PageAnswer {
  return { seeOther: `/operator/operators?notice=${notice}` }
}

const NOTICES: readonly OperatorsModel['notice'][] = ['confirmed', 'declined', 'withdrawn']

async function answerPage(
  context: Context,
  { fields, frame, sessionUser }: UserRequest,
  problem: OperatorsModel['problem'],
): Promise<PageAnswer> {
  const notice = NOTICES.find((each) => each === fields.get('notice')) ?? null
  const changes = await listOperatorChanges(context, sessionUser.id)
  return { page: operatorsPage(frame, { changes, notice, problem }), status: problem === null ? 200 : 400 }
}
