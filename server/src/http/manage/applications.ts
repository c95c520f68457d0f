/** Applications of an account and their secrets in the management API. */
import { explainSettings } from '../../core/applications/settings-in-words.ts'
import { Refusal } from '../../core/refusal.ts'
import {
  addOwnSecret,
  changeSettings,
  deleteOwnApplication,
  registerApplication,
  revokeOwnSecret,
} from '../../flows/applications/own.ts'
import { listOwnApplications, type OwnApplication, readOwnApplication } from '../../store/applications/own.ts'
import { type Body, boolean, nullable, oneOf, optional, text, texts } from '../schema.ts'
import { parseBody } from './body.ts'
import { type AskedOfAccount, accountEndpoint, type Resource } from './endpoint.ts'
import { listBody, moment, momentField, pageOf, pageQuery, readPage } from './paging.ts'
import { notFound, refuse } from './refused.ts'

const settings = {
  name: text('The name that users see.', { examples: ['Order Printer'] }),
  allowed_scopes: texts('Scopes that it may request.', { examples: [['orders:read']] }),
  default_scopes: texts('Scopes of a request that names none.', { examples: [['orders:read']] }),
  required_scopes: texts('Scopes that a user cannot leave out.', { examples: [[]] }),
  device_flow: boolean('May use the device flow.'),
  redirect_uris: texts('Addresses to which the dialog may return.', { examples: [['https://app.example/callback']] }),
}

const pkceRequired = boolean('Requires PKCE in the dialog; always true for a public application.')
const isPublic = boolean('Has no secret: a program that its users hold in their hands.')

const secretProperties = {
  id: text('The id.', { examples: ['sec_k3v9m2x7q4tz'] }),
  label: nullable(text('What it is for.')),
  created_at: momentField('When it was added.'),
}

const shown = {
  id: text('The id.', { examples: ['app_n61zbfpywkrj'] }),
  account_id: text('The account that registered it.'),
  ...settings,
  pkce_required: pkceRequired,
  public: isPublic,
  resource_server: boolean('May check credentials of others by introspection.'),
  suspended: boolean('Suspended pending review.'),
  publisher: nullable(text('The domain of its publisher.')),
  publisher_status: oneOf(['unverified', 'verified', 'first_party'], 'What users are told about the publisher.'),
  secrets: { type: 'array', items: { type: 'object', properties: secretProperties }, description: 'Its live secrets.' },
  created_at: momentField('When it was created.'),
} as const

const applicationBody: Body = { name: 'Application', description: 'An application of an account.', properties: shown }

const secret = optional(nullable(text('The secret. It is shown here only; null for a public application.')))

const createdBody: Body = {
  name: 'CreatedApplication',
  description: 'A new application with its secret.',
  properties: { ...shown, secret },
}

const lineBody: Body = {
  name: 'ApplicationLine',
  description: 'An application, in short.',
  properties: {
    id: shown.id,
    name: settings.name,
    suspended: shown.suspended,
    device_flow: settings.device_flow,
    public: isPublic,
    created_at: shown.created_at,
  },
}

const secretBody: Body = {
  name: 'CreatedSecret',
  description: 'A new secret.',
  properties: {
    id: secretProperties.id,
    label: secretProperties.label,
    created_at: secretProperties.created_at,
    secret: optional(text('The secret. It is shown here only.')),
  },
}

const APPLICATION_ID = /^app_[0-9a-z]{12}$/

function renderApplication(application: OwnApplication): Resource {
  const { id, accountId, name, publisher } = application
  return {
    ...{ id, account_id: accountId, name },
    allowed_scopes: application.allowedScopes,
    default_scopes: application.defaultScopes,
    required_scopes: application.requiredScopes,
    device_flow: application.deviceFlow,
    redirect_uris: application.redirectUris,
    pkce_required: application.pkceRequired,
    public: application.public,
    resource_server: application.resourceServer,
    suspended: application.suspended,
    publisher: publisher.name,
    publisher_status: publisher.status,
    secrets: application.secretLines.map(({ id, label, createdAt }) => ({ id, label, created_at: moment(createdAt) })),
    created_at: moment(application.createdAt),
  }
}

export async function readManagedApplication(
  { context, account, request }: AskedOfAccount,
  id?: string,
): Promise<OwnApplication> {
  const wanted = id ?? request.segments.application ?? ''
  return (await readOwnApplication(context.db, account.id, wanted)) ?? notFound('application')
}

const current = async (asked: AskedOfAccount) => renderApplication(await readManagedApplication(asked))

const newApplication = {
  name: settings.name,
  allowed_scopes: settings.allowed_scopes,
  default_scopes: optional(settings.default_scopes),
  required_scopes: optional(settings.required_scopes),
  device_flow: optional(settings.device_flow),
  redirect_uris: optional(settings.redirect_uris),
  public: optional(isPublic),
  pkce_required: optional(pkceRequired),
  resource_server: optional(shown.resource_server),
}

const applicationChange = {
  name: optional(settings.name),
  allowed_scopes: optional(settings.allowed_scopes),
  default_scopes: optional(settings.default_scopes),
  required_scopes: optional(settings.required_scopes),
  device_flow: optional(settings.device_flow),
  redirect_uris: optional(settings.redirect_uris),
  pkce_required: optional(pkceRequired),
}

export const listApplications = accountEndpoint({
  method: 'GET',
  path: '/manage/1/accounts/{account}/applications',
  scope: 'applications:read',
  operation: {
    id: 'listApplications',
    tag: 'Applications',
    summary: 'List the applications of an account',
    description: 'Oldest first, in short.',
    query: pageQuery,
    answers: { 200: { description: 'A page of applications.', body: listBody(lineBody) } },
    refusals: ['not_found'],
  },
  handle: async ({ context, request, account }) => {
    const wish = { ...readPage(request, APPLICATION_ID), search: '', sort: 'created', descending: false } as const
    const { lines, after } = await listOwnApplications(context.db, account.id, wish)
    const items = lines.map(({ id, name, suspended, deviceFlow, public: isPublic, createdAt }) => ({
      ...{ id, name, suspended, device_flow: deviceFlow, public: isPublic, created_at: moment(createdAt) },
    }))
    return pageOf(items, after)
  },
})

export const createApplication = accountEndpoint({
  method: 'POST',
  path: '/manage/1/accounts/{account}/applications',
  scope: 'applications:write',
  operation: {
    id: 'createApplication',
    tag: 'Applications',
    summary: 'Register an application',
    description:
      'With a key of the service it is as if an operator had registered it. With a key of the account it is as if an administrator had: no operator has approved it yet, so it can be granted by a hundred users at most.',
    json: newApplication,
    answers: { 201: { description: 'It is registered.', body: createdBody } },
    refusals: ['not_found', 'conflict'],
  },
  handle: async (asked) => {
    const { id, secret } = await register(asked)
    return { status: 201, resource: renderApplication(await readManagedApplication(asked, id)), secret: { secret } }
  },
})

async function register({ context, request, caller, by }: AskedOfAccount) {
  const given = parseBody(newApplication, request.json())
  const ofService = caller.accountId === null
  const { public: withoutSecret = false, resource_server: resourceServer = false } = given
  if (resourceServer && !ofService)
    throw new Refusal('invalid_request', 'Only a key of the service registers resource servers.')
  if (resourceServer && withoutSecret)
    throw new Refusal('invalid_request', 'A resource server proves itself with a secret, so it cannot be public.')
  const result = await registerApplication(context, by, {
    name: given.name,
    allowedScopes: given.allowed_scopes,
    defaultScopes: given.default_scopes ?? given.allowed_scopes,
    requiredScopes: given.required_scopes ?? [],
    deviceFlow: given.device_flow ?? true,
    redirectUris: given.redirect_uris ?? [],
    public: withoutSecret,
    pkceRequired: given.pkce_required ?? false,
    resourceServer,
    approved: ofService,
  })
  if (result.outcome === 'unfit') throw new Refusal('invalid_request', explainSettings(result.problem))
  return result.outcome === 'registered' ? result : refuse(result)
}

export const showApplication = accountEndpoint({
  method: 'GET',
  path: '/manage/1/accounts/{account}/applications/{application}',
  scope: 'applications:read',
  operation: {
    id: 'showApplication',
    tag: 'Applications',
    summary: 'Show an application',
    description: 'Secrets are shown by their ids only.',
    answers: { 200: { description: 'The application.', body: applicationBody } },
    refusals: ['not_found'],
  },
  handle: async (asked) => ({ status: 200, resource: await current(asked) }),
})

export const changeApplication = accountEndpoint({
  method: 'PATCH',
  path: '/manage/1/accounts/{account}/applications/{application}',
  scope: 'applications:write',
  operation: {
    id: 'changeApplication',
    tag: 'Applications',
    summary: 'Change an application',
    description:
      'Members that are left out stay as they are. The name of an application with a verified publisher is changed in the console.',
    json: applicationChange,
    answers: { 200: { description: 'The application as it is now.', body: applicationBody } },
    refusals: ['not_found', 'conflict', 'precondition_failed'],
  },
  current,
  handle: async (asked) => {
    const { context, request, by } = asked
    const known = await readManagedApplication(asked)
    const given = parseBody(applicationChange, request.json())
    const result = await changeSettings(context, by, known.id, {
      name: given.name ?? known.name,
      allowedScopes: given.allowed_scopes ?? known.allowedScopes,
      defaultScopes: given.default_scopes ?? known.defaultScopes,
      requiredScopes: given.required_scopes ?? known.requiredScopes,
      deviceFlow: given.device_flow ?? known.deviceFlow,
      redirectUris: given.redirect_uris ?? known.redirectUris,
      pkceRequired: given.pkce_required ?? known.pkceRequired,
    })
    if (result.outcome === 'unfit') throw new Refusal('invalid_request', explainSettings(result.problem))
    return result.outcome === 'saved' ? { status: 200, resource: await current(asked) } : refuse(result)
  },
})

export const deleteApplication = accountEndpoint({
  method: 'DELETE',
  path: '/manage/1/accounts/{account}/applications/{application}',
  scope: 'applications:write',
  operation: {
    id: 'deleteApplication',
    tag: 'Applications',
    summary: 'Delete an application',
    description:
      'Its secrets and all grants to it stop working within two seconds, everywhere. This cannot be undone; the audit log keeps its id.',
    answers: { 204: { description: 'It is deleted.' } },
    refusals: ['not_found', 'precondition_failed'],
  },
  current,
  handle: async ({ context, request, by }) => {
    const result = await deleteOwnApplication(context, by, request.segments.application ?? '')
    return result.outcome === 'deleted' ? { status: 204 } : refuse(result)
  },
})

const newSecret = { label: optional(text('What it is for.', { examples: ['production'] })) }

export const createSecret = accountEndpoint({
  method: 'POST',
  path: '/manage/1/accounts/{account}/applications/{application}/secrets',
  scope: 'applications:write',
  operation: {
    id: 'createSecret',
    tag: 'Applications',
    summary: 'Add a secret',
    description: 'The others stay valid. An application has at most three.',
    json: newSecret,
    answers: { 201: { description: 'It is added.', body: secretBody } },
    refusals: ['not_found', 'conflict', 'too_many_requests'],
  },
  handle: async (asked) => {
    const { context, request, by } = asked
    const { label = null } = parseBody(newSecret, request.json() ?? {})
    if (label !== null && (label === '' || label.length > 60))
      throw new Refusal('invalid_request', 'A label has 1 to 60 characters.')
    const { id } = await readManagedApplication(asked)
    const result = await addOwnSecret(context, by, id, label)
    if (result.outcome === 'too_many') throw new Refusal('conflict', 'An application has at most three live secrets.')
    if (result.outcome !== 'added') refuse(result)
    const line =
      (await readManagedApplication(asked)).secretLines.find((each) => each.id === result.id) ?? notFound('secret')
    const resource = { id: line.id, label: line.label, created_at: moment(line.createdAt) }
    return { status: 201, resource, secret: { secret: result.secret } }
  },
})

export const deleteSecret = accountEndpoint({
  method: 'DELETE',
  path: '/manage/1/accounts/{account}/applications/{application}/secrets/{secret}',
  scope: 'applications:write',
  operation: {
    id: 'deleteSecret',
    tag: 'Applications',
    summary: 'Revoke a secret',
    description: 'It stops working within two seconds. The last one cannot be revoked.',
    answers: { 204: { description: 'It is revoked.' } },
    refusals: ['not_found', 'conflict'],
  },
  handle: async (asked) => {
    const { id } = await readManagedApplication(asked)
    const result = await revokeOwnSecret(asked.context, asked.by, id, asked.request.segments.secret ?? '')
    return result.outcome === 'revoked' ? { status: 204 } : refuse(result)
  },
})
