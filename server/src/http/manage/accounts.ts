/** Accounts in the management API. */
import { Refusal } from '../../core/refusal.ts'
import { isCommandLine } from '../../flows/accounts/administrator.ts'
import { closeAccount as closeFor } from '../../flows/accounts/close.ts'
import { addAccount } from '../../flows/accounts/register.ts'
import { updateAccount } from '../../flows/accounts/update.ts'
import { type Account, readAccount } from '../../store/accounts/accounts.ts'
import { listManagedAccounts } from '../../store/manage/listed.ts'
import { type Body, nullable, optional, text } from '../schema.ts'
import { parseBody } from './body.ts'
import { type AskedOfAccount, accountEndpoint, endpoint, type Resource } from './endpoint.ts'
import { listBody, moment, momentField, pageOf, pageQuery, readFilter, readPage } from './paging.ts'
import { notFound, refuse, registered } from './refused.ts'

const name = text('The name that users see.', { examples: ['Acme'] })
const externalId = nullable(text('Its id at your own service, of up to 200 characters.', { examples: ['customer-17'] }))

const accountBody: Body = {
  name: 'Account',
  description: 'An account: a customer of the service, at a subdomain of its own.',
  properties: {
    id: text('The id.', { examples: ['acc_k3v9m2x7q4tz'] }),
    slug: text('The name in front of the host. It never changes.', { examples: ['acme'] }),
    name,
    external_id: externalId,
    created_at: momentField('When it was created.'),
  },
}

const SLUG = /^[a-z0-9-]{1,63}$/

function renderAccount({ id, slug, name, externalId, createdAt }: Account): Resource {
  return { id, slug, name, external_id: externalId, created_at: moment(createdAt) }
}

const current = async ({ account }: AskedOfAccount) => renderAccount(account)

const newAccount = {
  slug: text('The name in front of the host: a-z, 0-9 and inner dashes.', { examples: ['acme'] }),
  name,
  external_id: optional(externalId),
}

const accountChange = { name: optional(name), external_id: optional(externalId) }

export const listAccounts = endpoint({
  method: 'GET',
  path: '/manage/1/accounts',
  scope: 'accounts:read',
  operation: {
    id: 'listAccounts',
    tag: 'Accounts',
    summary: 'List accounts',
    description: 'Oldest first. The operators’ account is not among them.',
    query: { ...pageQuery, external_id: optional(text('Only the account with this external id.')) },
    answers: { 200: { description: 'A page of accounts.', body: listBody(accountBody) } },
  },
  handle: async ({ context, request, caller }) => {
    const filter = { externalId: readFilter(request, 'external_id'), only: caller.accountId }
    const wish = { ...readPage(request, SLUG), ...filter, operators: isCommandLine(caller) }
    const { lines, after } = await listManagedAccounts(context.db, context.config.operatorAccount, wish)
    return pageOf(lines.map(renderAccount), after)
  },
})

export const createAccount = endpoint({
  method: 'POST',
  path: '/manage/1/accounts',
  scope: 'accounts:write',
  operation: {
    id: 'createAccount',
    tag: 'Accounts',
    summary: 'Create an account',
    description:
      'It starts with the role `administrator`, which holds every scope. Only a key of the service can do this.',
    json: newAccount,
    answers: { 201: { description: 'It is created.', body: accountBody } },
    refusals: ['conflict'],
  },
  handle: async ({ context, request, caller }) => {
    if (caller.accountId !== null) throw new Refusal('insufficient_scope', 'A key of one account creates no accounts.')
    const { slug, name, external_id = null } = parseBody(newAccount, request.json())
    if (slug === context.config.operatorAccount && !isCommandLine(caller))
      throw new Refusal('conflict', 'This is the slug of the operators’ account.')
    const wish = { slug, name, externalId: external_id }
    const { id } = registered(await context.db.transaction((tx) => addAccount(tx, wish, caller.actor)))
    return { status: 201, resource: renderAccount((await readAccount(context.db, id)) ?? notFound('account')) }
  },
})

export const showAccount = accountEndpoint({
  method: 'GET',
  path: '/manage/1/accounts/{account}',
  scope: 'accounts:read',
  operation: {
    id: 'showAccount',
    tag: 'Accounts',
    summary: 'Show an account',
    description: 'By its id or its slug.',
    answers: { 200: { description: 'The account.', body: accountBody } },
    refusals: ['not_found'],
  },
  handle: async (asked) => ({ status: 200, resource: await current(asked) }),
})

export const changeAccount = accountEndpoint({
  method: 'PATCH',
  path: '/manage/1/accounts/{account}',
  scope: 'accounts:write',
  operation: {
    id: 'changeAccount',
    tag: 'Accounts',
    summary: 'Change an account',
    description: 'Members that are left out stay as they are.',
    json: accountChange,
    answers: { 200: { description: 'The account as it is now.', body: accountBody } },
    refusals: ['not_found', 'conflict', 'precondition_failed'],
  },
  current,
  handle: async ({ context, request, account, by }) => {
    const { name, external_id: externalId } = parseBody(accountChange, request.json())
    const result = await updateAccount(context, by, { name, externalId })
    if (result.outcome !== 'saved') refuse(result)
    return { status: 200, resource: renderAccount((await readAccount(context.db, account.id)) ?? notFound('account')) }
  },
})

export const closeAccount = accountEndpoint({
  method: 'DELETE',
  path: '/manage/1/accounts/{account}',
  scope: 'accounts:write',
  operation: {
    id: 'closeAccount',
    tag: 'Accounts',
    summary: 'Close an account',
    description:
      'At once the account is unknown to pages and to this API, its sessions and management keys end, its applications are deleted, and within two seconds no credential of its users or applications works. Then everything that is stored about it is deleted, except the audit log and the slug, which is never given again. This cannot be undone. Only a key of the service can do this; the operators’ account cannot be closed.',
    answers: { 204: { description: 'The account is closed.' } },
    refusals: ['not_found', 'conflict', 'precondition_failed'],
  },
  current,
  handle: async ({ context, caller, by }) => {
    if (caller.accountId !== null) throw new Refusal('insufficient_scope', 'A key of one account closes no accounts.')
    const result = await closeFor(context, by)
    return result.outcome === 'closed' ? { status: 204 } : refuse(result)
  },
})
