/** Handlers of the page on which administrators set up the account's identity provider. */
import { type Admission, admissions, type ProviderState, providerStates } from '../../core/provider/provider.ts'
import type { Context } from '../../flows/context.ts'
import {
  mayHaveProvider,
  readProviderSettings,
  saveProviderSettings,
  testProviderSettings,
  type WantedProvider,
} from '../../flows/provider/settings.ts'
import { type ProviderModel, providerPage } from '../../pages/provider/settings.tsx'
import type { FormFields } from '../parameters.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'
import { checkedNames } from '../web/fields.ts'

export const showProvider: PageHandler<UserRequest> = async (context, request) =>
  show(context, request, { notice: request.fields.get('notice') === 'saved' ? 'saved' : null })

export const changeProvider: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields, now } = request
  const wanted = readFields(fields)
  const result = await saveProviderSettings(context, account, sessionUser.id, wanted, now)
  if (result.outcome === 'saved') return { seeOther: '/account/provider?notice=saved' }
  if (result.outcome === 'forbidden' || result.outcome === 'not_found') return { refusal: result.outcome }
  return show(context, request, { wanted, problem: result.problem })
}

export const testConnection: PageHandler<UserRequest> = async (context, request) => {
  const result = await testProviderSettings(context, request.account, request.now)
  if (result.outcome === 'not_found') return { refusal: 'not_found' }
  return show(context, request, result.problem === null ? { notice: 'tested' } : { problem: result.problem })
}

function readFields(fields: FormFields): WantedProvider {
  const text = (name: string) => fields.get(name) ?? ''
  const state = providerStates.find((each) => each === fields.get('state')) ?? 'off'
  const admission = admissions.find((each) => each === fields.get('admission')) ?? 'invited'
  const values = checkedNames(fields, 'value').map((role) => [role, text(`value.${role}`)] as const)
  return {
    state,
    issuer: text('issuer'),
    clientId: text('client_id'),
    clientSecret: text('client_secret'),
    domains: text('domains'),
    admission,
    defaultRole: text('default_role'),
    roleClaim: text('role_claim'),
    roleValues: new Map(values),
    breakGlass: checkedNames(fields, 'administrator'),
  }
}

type About = {
  readonly wanted?: WantedProvider
  readonly problem?: ProviderModel['problem']
  readonly notice?: ProviderModel['notice']
}

/** `wanted`: what was submitted and could not be saved; absent: what is stored. */
async function show(
  context: Context,
  { account, frame }: UserRequest,
  { wanted, problem = null, notice = null }: About,
): Promise<PageAnswer> {
  if (!mayHaveProvider(context, account)) return { refusal: 'not_found' }
  const { provider, roles, administrators, redirectUri, logoutUri } = await readProviderSettings(context, account)
  const values = wanted?.roleValues ?? new Map(provider?.roleValues.map(({ roleId, value }) => [roleId, value]))
  const breakGlass = wanted?.breakGlass ?? provider?.breakGlass ?? []
  const state: ProviderState = wanted?.state ?? provider?.state ?? 'off'
  const admission: Admission = wanted?.admission ?? provider?.admission ?? 'invited'
  const model: ProviderModel = {
    stored: provider !== null,
    state,
    issuer: wanted?.issuer ?? provider?.issuer ?? '',
    clientId: wanted?.clientId ?? provider?.clientId ?? '',
    domains: wanted?.domains ?? provider?.domains.join(' ') ?? '',
    admission,
    defaultRole: wanted?.defaultRole ?? provider?.defaultRole ?? '',
    roleClaim: wanted?.roleClaim ?? provider?.roleClaim ?? '',
    roles: roles.map(({ id, name, holdsEveryScope }) => ({
      id,
      name,
      value: values.get(id) ?? '',
      canBeDefault: !holdsEveryScope,
    })),
    administrators: administrators.map(({ id, email }) => ({ id, email, chosen: breakGlass.includes(id) })),
    redirectUri,
    logoutUri,
    problem,
    notice,
  }
  return { page: providerPage(frame, model), status: problem === null ? 200 : 400 }
}
