/** Developer console: registration, settings and secrets of an account's own applications. For administrators. */
import { isApplicationName, MAX_LIVE_SECRETS } from '../../core/applications/application.ts'
import { runningTestMode } from '../../core/applications/test-mode.ts'
import { addOwnSecret, changeSettings, registerApplication, revokeOwnSecret } from '../../flows/applications/own.ts'
import type { Context } from '../../flows/context.ts'
import { ownApplicationPage } from '../../pages/applications/application.tsx'
import type { OwnApplicationModel } from '../../pages/applications/application-model.ts'
import { developerListPage } from '../../pages/applications/list.tsx'
import { type RegisterModel, registerApplicationPage } from '../../pages/applications/register.tsx'
import { type ApplicationSettingsModel, applicationSettingsPage } from '../../pages/applications/settings.tsx'
import { samplesFor } from '../../pages/ui/samples.tsx'
import { secretShownPage } from '../../pages/ui/secret-shown.tsx'
import type { OwnApplication } from '../../store/applications/own.ts'
import { listOwnApplications, ownColumns, readOwnApplication } from '../../store/applications/own.ts'
import { readProposal } from '../../store/applications/proposals.ts'
import { readScopeCatalogue } from '../../store/applications/scopes.ts'
import { readVetting } from '../../store/applications/vettings.ts'
import { readTableWish } from '../table-wish.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'
import { problemOf, readRedirects, readScopeChoice, scopeChoiceOf, scopeSettings } from './fields.ts'
import { ownLogo, proposalOf } from './profile.ts'
import { vettingOf } from './vetting.ts'

export const showOwnApplications: PageHandler<UserRequest> = async (context, { account, fields, frame }) => {
  const wish = readTableWish(fields, ownColumns, { sort: 'name', descending: false })
  const { lines, after } = await listOwnApplications(context.db, account.id, wish)
  const applications = lines.map(({ createdAt, deviceFlow, logoVersion, ...rest }) => {
    return { ...rest, logo: ownLogo(rest.id, logoVersion), code: deviceFlow, createdOn: createdAt }
  })
  return { page: developerListPage(frame, { wish, applications: { lines: applications, after } }) }
}

const KINDS: readonly RegisterModel['kind'][] = ['device', 'web', 'page']

export const showRegistration: PageHandler<UserRequest> = async (context, request) =>
  registrationPage(context, request, 'kind', null)

/** Each step carries the values of the previous ones in the form; nothing is stored before the last step. */
export const register: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser, frame } = request
  const { name, kind, scopes, redirects } = await readRegistration(context, request)
  const again = (step: RegisterModel['step'], problem: RegisterModel['problem']) =>
    registrationPage(context, request, step, problem)
  if (kind === null) return again('kind', 'kind')
  const dialog = kind !== 'device'
  const chosen = scopeSettings(scopes)
  const redirectUris = dialog ? readRedirects(redirects) : []
  const wish = { name, ...chosen, redirectUris, deviceFlow: !dialog, public: kind === 'page' }
  const step = fields.get('step')
  if (step === 'kind') return isApplicationName(name) ? again('scopes', null) : again('kind', 'name')
  if (chosen.allowedScopes.length === 0) return again('scopes', 'scopes')
  if (step === 'scopes' && dialog) return again('redirects', null)
  if (dialog && redirectUris.length === 0) return again('redirects', { uri: '', reason: 'none' })
  const result = await registerApplication(context, sessionUser.id, wish)
  if (result.outcome === 'forbidden') return { refusal: 'forbidden' }
  if (result.outcome === 'too_many_unvetted') return again('kind', 'too_many_unvetted')
  if (result.outcome === 'unfit') {
    const problem = problemOf(result.problem)
    const isName = problem === 'name' || problem === 'taken'
    const isScopes = problem === 'scopes' || problem === 'not_by_code'
    return again(isName ? 'kind' : isScopes ? 'scopes' : 'redirects', problem)
  }
  const { id, secret } = result
  const ways = { code: !dialog, redirect: redirectUris[0] ?? null, public: wish.public }
  const samples = samplesFor(context.config.publicUrl, id, ways)
  return { page: secretShownPage(frame, { id, name, secret, registered: true, samples }) }
}

async function readRegistration(context: Context, { fields }: UserRequest) {
  return {
    name: (fields.get('name') ?? '').trim(),
    kind: KINDS.find((each) => each === fields.get('kind')) ?? null,
    scopes: readScopeChoice(await readScopeCatalogue(context.db), fields),
    redirects: (fields.get('redirects') ?? '').slice(0, 20_000),
  }
}

async function registrationPage(
  context: Context,
  request: UserRequest,
  step: RegisterModel['step'],
  problem: RegisterModel['problem'],
): Promise<PageAnswer> {
  const model = { ...(await readRegistration(context, request)), step, problem }
  return { page: registerApplicationPage(request.frame, model), status: problem === null ? 200 : 400 }
}

const NOTICES: readonly OwnApplicationModel['notice'][] = [
  'saved',
  'revoked',
  'logo',
  'withdrawn',
  'test_mode_off',
  'vetting',
]

export const showOwnApplication: PageHandler<UserRequest> = (context, request) =>
  applicationPage(context, request, null)

export const addSecret: PageHandler<UserRequest> = async (context, request) => {
  const { sessionUser, account, fields, frame } = request
  const id = fields.get('application') ?? ''
  const label = (fields.get('label') ?? '').trim().slice(0, 60) || null
  const result = await addOwnSecret(context, sessionUser.id, id, label)
  if (result.outcome === 'too_many') return applicationPage(context, request, 'too_many')
  if (result.outcome !== 'added') return { refusal: result.outcome === 'forbidden' ? 'forbidden' : 'not_found' }
  const application = await readOwnApplication(context.db, account.id, id)
  if (!application) return { refusal: 'not_found' }
  const samples = samplesOf(context, application)
  return {
    page: secretShownPage(frame, { id, name: application.name, secret: result.secret, registered: false, samples }),
  }
}

export const revokeSecret: PageHandler<UserRequest> = async (context, request) => {
  const { sessionUser, fields } = request
  const id = fields.get('application') ?? ''
  const { outcome } = await revokeOwnSecret(context, sessionUser.id, id, fields.get('secret') ?? '')
  if (outcome === 'last') return applicationPage(context, request, 'last')
  if (outcome !== 'revoked') return { refusal: outcome }
  return { seeOther: `/developer/application?application=${id}&notice=revoked` }
}

export const showSettings: PageHandler<UserRequest> = async (context, { account, fields, frame }) => {
  const application = await readOwnApplication(context.db, account.id, fields.get('application') ?? '')
  if (!application) return { refusal: 'not_found' }
  const { id, deviceFlow, vouchedFor: secondLook } = application
  const pkce = pkceOf(application)
  const scopes = scopeChoiceOf(await readScopeCatalogue(context.db), application)
  const redirects = application.redirectUris.join('\n')
  // Shows the proposed name while it waits for an operator, so that saving the page does not withdraw the proposal.
  const proposal = await readProposal(context.db, id)
  const name = proposal?.declinedReason === null ? proposal.name : application.name
  const model = { id, name, deviceFlow, pkce, scopes, redirects, secondLook, problem: null }
  return { page: applicationSettingsPage(frame, model) }
}

export const saveSettings: PageHandler<UserRequest> = async (context, { sessionUser, account, fields, frame }) => {
  const id = fields.get('application') ?? ''
  const name = (fields.get('name') ?? '').trim()
  const deviceFlow = fields.has('device_flow')
  const pkceRequired = fields.has('require_pkce')
  const redirects = (fields.get('redirects') ?? '').slice(0, 20_000)
  const scopes = readScopeChoice(await readScopeCatalogue(context.db), fields)
  const redirectUris = readRedirects(redirects)
  const settings = { name, deviceFlow, pkceRequired, ...scopeSettings(scopes), redirectUris }
  const result = await changeSettings(context, sessionUser.id, id, settings)
  if (result.outcome === 'saved') return { seeOther: `/developer/application?application=${id}&notice=saved` }
  if (result.outcome !== 'unfit') return { refusal: result.outcome }
  const application = await readOwnApplication(context.db, account.id, id)
  if (!application) return { refusal: 'not_found' }
  const pkce = pkceOf({ public: application.public, pkceRequired })
  const secondLook = application.vouchedFor
  const problem = problemOf(result.problem)
  const model = { id, name, deviceFlow, pkce, scopes, redirects, secondLook, problem }
  return { page: applicationSettingsPage(frame, model), status: 400 }
}

function pkceOf(application: Pick<OwnApplication, 'public' | 'pkceRequired'>): ApplicationSettingsModel['pkce'] {
  if (application.public) return 'always'
  return application.pkceRequired ? 'required' : 'offered'
}

export async function applicationPage(
  context: Context,
  { account, fields, frame }: UserRequest,
  problem: OwnApplicationModel['problem'],
): Promise<PageAnswer> {
  const application = await readOwnApplication(context.db, account.id, fields.get('application') ?? '')
  if (!application) return { refusal: 'not_found' }
  const choice = scopeChoiceOf(await readScopeCatalogue(context.db), application)
  const model: OwnApplicationModel = {
    id: application.id,
    name: application.name,
    logo: ownLogo(application.id, application.logoVersion),
    publisher: application.publisher,
    proposal: proposalOf(application, await readProposal(context.db, application.id)),
    vetting: vettingOf(await readVetting(context.db, application.id)),
    createdOn: application.createdAt,
    suspended: application.suspended,
    public: application.public,
    deviceFlow: application.deviceFlow,
    testEndsAt: runningTestMode(application, context.applications.now())?.endsAt ?? null,
    redirects: application.redirectUris,
    scopes: choice.filter(({ use }) => use !== 'no'),
    secrets: application.secretLines.map(({ createdAt, ...rest }) => ({ ...rest, createdOn: createdAt })),
    maxSecrets: MAX_LIVE_SECRETS,
    samples: samplesOf(context, application),
    notice: NOTICES.find((each) => each === fields.get('notice')) ?? null,
    problem,
  }
  return { page: ownApplicationPage(frame, model), status: problem === null ? 200 : 400 }
}

export function samplesOf(context: Context, application: OwnApplication) {
  const ways = {
    code: application.deviceFlow,
    redirect: application.redirectUris[0] ?? null,
    public: application.public,
    testMode: runningTestMode(application, context.applications.now()) !== null,
  }
  return samplesFor(context.config.publicUrl, application.id, ways)
}
