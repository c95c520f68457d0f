/** Operators' console: the scope catalogue. */

import { addScope, changeScopeTitle } from '../../flows/applications/scope-catalogue.ts'
import type { Context } from '../../flows/context.ts'
import { type OperatorScopesModel, operatorScopesPage } from '../../pages/operator/scopes.tsx'
import { listScopes } from '../../store/applications/scopes.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'

const EMPTY: OperatorScopesModel['typed'] = { name: '', title: '', dangerous: false, code: true }

export const showScopes: PageHandler<UserRequest> = (context, request) => scopesPage(context, request, EMPTY, null)

export const addNewScope: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser } = request
  const name = (fields.get('name') ?? '').trim()
  const title = (fields.get('title') ?? '').trim()
  const dangerous = fields.has('dangerous')
  const code = fields.has('code')
  const { outcome } = await addScope(context, sessionUser.id, { name, title, dangerous, deviceFlow: code })
  if (outcome === 'added') return { seeOther: '/operator/scopes?notice=added' }
  if (outcome === 'forbidden') return { refusal: 'forbidden' }
  return scopesPage(context, request, { name, title, dangerous, code }, outcome)
}

export const retitleScope: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser } = request
  const scope = fields.get('scope') ?? ''
  const title = (fields.get('title') ?? '').trim()
  const { outcome } = await changeScopeTitle(context, sessionUser.id, scope, title)
  if (outcome === 'saved') return { seeOther: '/operator/scopes?notice=titled' }
  if (outcome !== 'title') return { refusal: outcome }
  return scopesPage(context, request, EMPTY, { titled: scope, title })
}

const NOTICES: readonly OperatorScopesModel['notice'][] = ['added', 'titled']

async function scopesPage(
  context: Context,
  { fields, frame }: UserRequest,
  typed: OperatorScopesModel['typed'],
  problem: OperatorScopesModel['problem'],
): Promise<PageAnswer> {
  const notice = NOTICES.find((each) => each === fields.get('notice')) ?? null
  const model = { scopes: await listScopes(context.db), typed, notice, problem }
  return { page: operatorScopesPage(frame, model), status: problem === null ? 200 : 400 }
}
