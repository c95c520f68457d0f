/** Developer console: an application's publisher, proven by a DNS record. For administrators. */

import { isOperatorsWord, provePublisher, recordFor, removePublisher } from '../../flows/applications/publisher.ts'
import type { Context } from '../../flows/context.ts'
import {
  type ApplicationPublisherModel,
  applicationPublisherPage,
  type CheckResult,
} from '../../pages/applications/publisher-page.tsx'
import { readOwnApplication } from '../../store/applications/own.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'

export const showPublisher: PageHandler<UserRequest> = (context, request) => publisherPage(context, request)

/** Redirects to a URL that contains the domain: DNS changes take time, and the user can return to the same page. */
export const showRecord: PageHandler<UserRequest> = async (context, request) => {
  const { account, fields } = request
  const id = fields.get('application') ?? ''
  if (!(await readOwnApplication(context.db, account.id, id))) return { refusal: 'not_found' }
  const record = recordFor(context, id, fields.get('domain') ?? '')
  return 'problem' in record ? publisherPage(context, request) : { seeOther: addressOf(id, { domain: record.domain }) }
}

export const checkPublisher: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields } = request
  const id = fields.get('application') ?? ''
  if (!(await readOwnApplication(context.db, account.id, id))) return { refusal: 'not_found' }
  const result = await provePublisher(context, sessionUser.id, id, fields.get('domain') ?? '')
  switch (result.outcome) {
    case 'proven':
      return { seeOther: addressOf(id, { notice: 'proven' }) }
    case 'operators_word':
      return { seeOther: addressOf(id, {}) }
    case 'forbidden':
    case 'not_found':
      return { refusal: result.outcome }
    case 'unfit':
      return publisherPage(context, request)
    case 'too_many': {
      const page = await publisherPage(context, request, {
        outcome: 'too_many',
        minutes: Math.ceil(result.waitMs / 60_000),
      })
      return { ...page, status: 429, retryAfterSeconds: Math.ceil(result.waitMs / 1000) }
    }
    default:
      return publisherPage(context, request, result)
  }
}

export const discardPublisher: PageHandler<UserRequest> = async (context, { sessionUser, fields }) => {
  const id = fields.get('application') ?? ''
  const { outcome } = await removePublisher(context, sessionUser.id, id)
  if (outcome === 'removed') return { seeOther: addressOf(id, { notice: 'removed' }) }
  return outcome === 'operators_word' ? { seeOther: addressOf(id, {}) } : { refusal: outcome }
}

function addressOf(application: string, more: Readonly<Record<string, string>>): string {
  return `/developer/application/publisher?${new URLSearchParams({ application, ...more })}`
}

const NOTICES: readonly ApplicationPublisherModel['notice'][] = ['proven', 'removed']

async function publisherPage(
  context: Context,
  { account, fields, frame }: UserRequest,
  result: CheckResult | null = null,
): Promise<PageAnswer> {
  const application = await readOwnApplication(context.db, account.id, fields.get('application') ?? '')
  if (!application) return { refusal: 'not_found' }
  const { id, name, publisher, publisherProvenAt, publisherMissingSince } = application
  // Without a domain in the URL, shows the record of the proven domain: the user may have to set it again.
  const proven = publisherProvenAt === null ? undefined : (publisher.name ?? undefined)
  const typed = fields.get('domain') ?? proven
  const record = typed === undefined ? null : recordFor(context, id, typed)
  const problem = record && 'problem' in record ? record.problem : null
  const model: ApplicationPublisherModel = {
    id,
    name,
    publisher,
    operatorsWord: isOperatorsWord(application),
    provenAt: publisherProvenAt,
    missingSince: publisherMissingSince,
    typed: fields.get('domain') ?? '',
    record: record && 'problem' in record ? null : record,
    problem,
    result,
    notice: NOTICES.find((each) => each === fields.get('notice')) ?? null,
  }
  return { page: applicationPublisherPage(frame, model), status: problem === null && result === null ? 200 : 400 }
}
