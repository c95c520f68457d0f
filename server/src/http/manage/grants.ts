/** Grants of an account's users in the management API. */
import { Refusal } from '../../core/refusal.ts'
import {
  type ConnectedApplication,
  listAccountGrants,
  listOwnGrants,
  removeGrantByKey,
} from '../../flows/grants/connected-applications.ts'
import { type Body, nullable, oneOf, optional, text, texts } from '../schema.ts'
import { accountEndpoint, type Resource } from './endpoint.ts'
import { listBody, moment, momentField, pageOf, pageQuery, readFilter, readPage } from './paging.ts'
import { refuse } from './refused.ts'
import { readManagedUser } from './users.ts'

const grantBody: Body = {
  name: 'Grant',
  description: 'What a user allowed an application.',
  properties: {
    id: text('The id.', { examples: ['grt_4m8x2k7q9t3v6w1y5z0a'] }),
    user_id: text('The user.', { examples: ['usr_k3v9m2x7q4tz'] }),
    email: text('The user’s e-mail address.'),
    application_id: text('The application.', { examples: ['app_n61zbfpywkrj'] }),
    application_name: text('The application’s name.'),
    variant: oneOf(['token_set', 'access_key'], 'What kind of credential it has.'),
    scopes: texts('What was granted.'),
    effective_scopes: texts('What it may do now.'),
    by: oneOf(['code', 'dialog'], 'By the device flow or in the dialog.'),
    created_at: momentField('When it was granted.'),
    last_used_on: nullable(text('The day of the last use, in UTC.')),
  },
}

const GRANT_ID = /^grt_[0-9a-z]{20}$/

function renderGrant(grant: ConnectedApplication): Resource {
  return {
    ...{ id: grant.id, user_id: grant.userId, email: grant.email, application_id: grant.applicationId },
    application_name: grant.application.name,
    variant: grant.variant,
    scopes: grant.scopes,
    effective_scopes: grant.can.map(({ name }) => name),
    by: grant.by,
    created_at: moment(grant.createdAt),
    last_used_on: moment(grant.lastUsedOn)?.slice(0, 10) ?? null,
  }
}

export const listGrants = accountEndpoint({
  method: 'GET',
  path: '/manage/1/accounts/{account}/grants',
  scope: 'grants:read',
  operation: {
    id: 'listGrants',
    tag: 'Grants',
    summary: 'List the live grants of an account’s users',
    description: 'Oldest first: all, or those of one user, or those to one application.',
    query: {
      ...pageQuery,
      user: optional(text('Id of a user.')),
      application: optional(text('Id of an application, of any account.')),
    },
    answers: { 200: { description: 'A page of grants.', body: listBody(grantBody) } },
    refusals: ['not_found'],
  },
  handle: async (asked) => {
    const { context, request, account } = asked
    const [user, application] = [readFilter(request, 'user'), readFilter(request, 'application')]
    if (user !== null && application !== null)
      throw new Refusal('invalid_request', 'Give user or application, not both.')
    const order = { ...readPage(request, GRANT_ID), search: '', sort: 'connected', descending: false } as const
    const { grants, after } =
      user === null
        ? await listAccountGrants(context, account.id, order, application)
        : await listOwnGrants(context, (await readManagedUser(asked, user)).id, order.after, order)
    return pageOf(grants.map(renderGrant), after)
  },
})

export const deleteGrant = accountEndpoint({
  method: 'DELETE',
  path: '/manage/1/accounts/{account}/grants/{grant}',
  scope: 'grants:write',
  operation: {
    id: 'deleteGrant',
    tag: 'Grants',
    summary: 'Revoke a grant',
    description: 'Its credentials stop working within two seconds, everywhere.',
    answers: { 204: { description: 'It is revoked.' } },
    refusals: ['not_found'],
  },
  handle: async ({ context, request, by }) => {
    const result = await removeGrantByKey(context, by, request.segments.grant ?? '')
    return result.outcome === 'removed' ? { status: 204 } : refuse(result)
  },
})
