/**
 * Server for browsers on the base host, which belongs to no account: reads the request, calls the handler, sends the
 * page.
 *
 * Users arrive here from an application or a device. There are no sessions on this host.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from '../../core/refusal.ts'
import { serviceOf } from '../../flows/configured-branding.ts'
import type { Context } from '../../flows/context.ts'
import type { Frame, Service } from '../../pages/ui/frame.ts'
import { refusalPage } from '../../pages/ui/refusal.tsx'
import type { Languages } from '../../pages/ui/words.ts'
import type { RequestAddressReader } from '../client-address.ts'
import { isInDialog } from '../dialog/dialog-window.ts'
import { MAX_BODY_BYTES } from '../form.ts'
import { type FormFields, MAX_PARAMETERS } from '../parameters.ts'
import type { BasePage } from '../route.ts'
import type { FormRules, PathRoutes } from '../router.ts'
import { LANGUAGE, readCookie } from './cookies.ts'
import { receivePage } from './receive-page.ts'
import { type ResponseOptions, respondPage } from './respond.ts'
import { pageRefusalFor } from './serve-account.ts'

export type BaseAsked = {
  readonly requestId: string
  readonly path: string
  readonly query: string
  readonly found: PathRoutes<BasePage>
}

export function createBaseServer(context: Context, addressOf: RequestAddressReader) {
  const { publicUrl } = context.config
  const own = { service: serviceOf(context), languages: context.languages }
  const secure = publicUrl.startsWith('https:')
  // A form here may redirect to any account's host, and browsers apply form-action to the redirect as well.
  const accounts = publicUrl.replace('://', '://*.')
  const rulesOf = ({ fromAnywhere }: BasePage): FormRules => ({
    origin: fromAnywhere ? null : publicUrl,
    query: fromAnywhere === true,
    bodyOfGet: false,
    json: false,
    maxBytes: MAX_BODY_BYTES,
    maxMultipartBytes: fromAnywhere ? MAX_BODY_BYTES : null,
    maxFields: MAX_PARAMETERS,
    file: null,
  })
  return async (request: IncomingMessage, response: ServerResponse, asked: BaseAsked): Promise<void> => {
    const { requestId } = asked
    const nonce = randomBytes(16).toString('base64')
    let frame = frameAt(own, request, asked.path, asked.query, nonce)
    const options: ResponseOptions = {
      requestId,
      nonce,
      secure,
      formTarget: accounts,
      inDialog: () => frame.dialog,
      refuse: (code, detail) => refusalPage(frame, { code, requestId, detail }),
    }
    try {
      const received = await receivePage(request, asked.found, asked.query, rulesOf)
      if ('refusal' in received) return respondPage(response, options, received)
      const { route, fields } = received
      if (route.method === 'POST') frame = frameAt(own, request, asked.path, formQuery(fields), nonce)
      const cookie = (name: string) => readCookie(request.headers.cookie, name)
      const address = addressOf(request)
      respondPage(response, options, await route.handler(context, { fields, frame, address, cookie }))
    } catch (error) {
      const detail = error instanceof Refusal ? { detail: `${error.code}: ${error.message}` } : {}
      respondPage(response, options, { refusal: pageRefusalFor(context, error), ...detail })
    }
  }
}

/** The only fields of a form that are needed to show its page again. */
function formQuery(fields: FormFields): string {
  const [request, next] = [fields.get('request'), fields.get('next')]
  if (next !== undefined) return `next=${encodeURIComponent(next)}`
  return request === undefined ? '' : `request=${encodeURIComponent(request)}`
}

type Own = { readonly service: Service; readonly languages: Languages }

function frameAt(
  { service, languages }: Own,
  { headers }: IncomingMessage,
  path: string,
  query: string,
  nonce: string,
): Frame {
  const here = query === '' ? path : `${path}?${query}`
  const chosen = readCookie(headers.cookie, LANGUAGE)
  return {
    words: languages.wordsFor(languages.choose(chosen, headers['accept-language'] ?? null)),
    service,
    account: null,
    signInAt: null,
    user: null,
    path: here,
    nonce,
    // No page of the base host mentions mail.
    mail: false,
    dialog: path.endsWith('/authorize') || isInDialog(path, new URLSearchParams(query).get('next')),
    sign: () => '',
  }
}
