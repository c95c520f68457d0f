/** The audit log in the management API, to be read and followed. */
import { visibleDetail } from '../../core/audit/detail.ts'
import { Refusal } from '../../core/refusal.ts'
import { findManagedAccount } from '../../flows/manage/authenticate.ts'
import { type ChainedEvent, listChain } from '../../store/manage/listed.ts'
import { type Body, integer, nullable, optional, text } from '../schema.ts'
import { type Asked, endpoint, type Resource } from './endpoint.ts'
import { listBody, moment, momentField, pageOf, pageQuery, readFilter, readPage } from './paging.ts'

const eventBody: Body = {
  name: 'AuditEvent',
  description: 'An entry of the audit log.',
  properties: {
    position: integer('Its place in the chain, which only ever grows.', { examples: [1042] }),
    at: momentField('When it happened.'),
    kind: text('What happened.', { examples: ['grant.created'] }),
    actor_kind: text('Who did it: user, operator, application, service, management_key or anonymous.'),
    actor_id: nullable(text('Their id; null for an operator, if a key of one account asks.')),
    via: text('web, api, cli, mail or job.'),
    account_id: nullable(text('The account concerned.')),
    user_id: nullable(text('The user concerned.')),
    application_id: nullable(text('The application concerned.')),
    grant_id: nullable(text('The grant concerned.')),
    detail: { type: 'object', description: 'More about it, by kind.' },
    request_id: nullable(text('`X-Request-Id` of the request that caused it.')),
  },
}

function renderEvent(event: ChainedEvent, toAccount: boolean): Resource {
  const { position, kind, actorKind, actorId, via, accountId, userId, applicationId, grantId, requestId } = event
  return {
    ...{ position, at: moment(event.at), kind, actor_kind: actorKind },
    actor_id: toAccount && actorKind === 'operator' ? null : actorId,
    ...{ via, account_id: accountId, user_id: userId, application_id: applicationId, grant_id: grantId },
    detail: visibleDetail(event.detail, toAccount),
    request_id: requestId,
  }
}

export const listAuditEvents = endpoint({
  method: 'GET',
  path: '/manage/1/audit',
  scope: 'audit:read',
  operation: {
    id: 'listAuditEvents',
    tag: 'Audit',
    summary: 'Read or follow the audit log',
    description:
      'In the order of its chain, oldest first. `next` is never null: ask again with it, and you get every later event once, none twice. A new event appears within about two seconds. A page may be empty although more follow, if many events are of other accounts. Events of the operators’ account are left out.',
    query: { ...pageQuery, account: optional(text('Id or slug: only events of this account.')) },
    answers: { 200: { description: 'A page of events.', body: listBody(eventBody) } },
    refusals: ['not_found'],
  },
  handle: async (asked) => {
    const { context, request, caller } = asked
    const { after, lines } = readPage(request, /^\d{1,15}$/)
    const accountId = await accountOf(asked)
    const wish = { after: Number(after ?? 0), lines, accountId }
    const page = await listChain(context.db, context.config.operatorAccount, wish)
    return pageOf(
      page.events.map((event) => renderEvent(event, caller.accountId !== null)),
      String(page.after),
    )
  },
})

async function accountOf({ context, request, caller }: Asked): Promise<string | null> {
  const name = readFilter(request, 'account')
  if (name === null) return caller.accountId
  const account = await findManagedAccount(context, caller, name)
  if (!account) throw new Refusal('not_found', 'The key reaches no such account.')
  return account.id
}
