/**
 * Server for browsers on the base host, which belongs to no account: finds the route, checks the origin of forms, sends
 * the page.
 *
 * Users arrive here from an application or a device. There are no sessions on this host.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from '../../core/refusal.ts'
import type { Context } from '../../flows/context.ts'
import { findAsset } from '../../pages/ui/assets.ts'
import type { Frame } from '../../pages/ui/frame.ts'
import { refusalPage } from '../../pages/ui/refusal.tsx'
import { chooseLanguage, wordsFor } from '../../pages/ui/words.ts'
import type { AddressReader } from '../client-address.ts'
import { isInDialog } from '../dialog/dialog-window.ts'
import { readForm } from '../form.ts'
import { singleHeader } from '../header.ts'
import { type FormFields, readParameters } from '../parameters.ts'
import { ASSETS } from '../request-scope.ts'
import type { PageAnswer } from './answer.ts'
import type { BaseRoute } from './base-route.ts'
import { baseRoutes } from './base-routes.ts'
import { LANGUAGE, readCookie } from './cookies.ts'
import { respondAsset, respondPage, type Surroundings } from './respond.ts'
import { isSameOrigin } from './same-origin.ts'
import { pageRefusalFor } from './serve-account.ts'

type Routes = ReadonlyMap<string, Readonly<Partial<Record<'GET' | 'POST', BaseRoute>>>>

const routes: Routes = indexBaseRoutes()

function indexBaseRoutes(): Routes {
  const paths = new Map<string, Partial<Record<'GET' | 'POST', BaseRoute>>>()
  for (const route of baseRoutes) paths.set(route.path, { ...paths.get(route.path), [route.method]: route })
  return paths
}

export function isBasePath(path: string): boolean {
  return routes.has(path) || findAsset(path) !== null
}

export function basePathOf(path: string): string {
  return routes.has(path) ? path : ASSETS
}

export const basePaths: readonly string[] = [...routes.keys()]

export type BaseAsked = { readonly requestId: string; readonly path: string; readonly query: string }

export function createBaseServer(context: Context, addressOf: AddressReader) {
  const { publicUrl } = context.config
  const secure = publicUrl.startsWith('https:')
  // A form here may redirect to any account's host, and browsers apply form-action to the redirect as well.
  const accounts = publicUrl.replace('://', '://*.')
  return async (request: IncomingMessage, response: ServerResponse, asked: BaseAsked): Promise<void> => {
    const { requestId } = asked
    const asset = findAsset(asked.path)
    if (asset) return respondAsset(request, response, asset, { requestId, secure })
    const nonce = randomBytes(16).toString('base64')
    let frame = frameAt(request, asked.path, asked.query, nonce)
    const around: Surroundings = {
      requestId,
      nonce,
      secure,
      formTarget: accounts,
      inDialog: () => frame.dialog,
      refuse: (code) => refusalPage(frame, { code, requestId }),
    }
    try {
      const received = await receive(request, asked, publicUrl)
      if ('refusal' in received) return respondPage(response, around, received)
      const { route, fields } = received
      if (route.method === 'POST') frame = frameAt(request, asked.path, formQuery(fields), nonce)
      const cookie = (name: string) => readCookie(request.headers.cookie, name)
      const address = addressOf(request.socket.remoteAddress, singleHeader(request, 'x-forwarded-for'))
      respondPage(response, around, await route.handler(context, { fields, frame, address, cookie }))
    } catch (error) {
      respondPage(response, around, { refusal: pageRefusalFor(context, error) })
    }
  }
}

type Received = { readonly route: BaseRoute; readonly fields: FormFields }

async function receive(
  request: IncomingMessage,
  { path, query }: BaseAsked,
  origin: string,
): Promise<Received | Extract<PageAnswer, { refusal: unknown }>> {
  const methods = routes.get(path) ?? {}
  const route = methods[request.method === 'HEAD' ? 'GET' : (request.method as 'GET' | 'POST')]
  if (!route) return { refusal: 'method_not_allowed', allow: Object.keys(methods).join(', ') }
  if (route.method === 'POST' && !route.fromAnywhere && !isSameOrigin(request.headers, origin)) {
    return { refusal: 'stale' }
  }
  const form = route.method === 'POST' ? await readForm(request) : undefined
  const fields = await readParameters(route.method === 'GET' || route.fromAnywhere ? query : '', form)
  // PostgreSQL cannot store a NUL, and users do not type it.
  if ([...fields].flat().some((text) => text.includes('\0'))) throw new Refusal('invalid_request')
  return { route, fields }
}

/** The only fields of a form that are needed to show its page again. */
function formQuery(fields: FormFields): string {
  const [request, next] = [fields.get('request'), fields.get('next')]
  if (next !== undefined) return `next=${encodeURIComponent(next)}`
  return request === undefined ? '' : `request=${encodeURIComponent(request)}`
}

function frameAt({ headers }: IncomingMessage, path: string, query: string, nonce: string): Frame {
  const here = query === '' ? path : `${path}?${query}`
  const chosen = readCookie(headers.cookie, LANGUAGE)
  return {
    words: wordsFor(chooseLanguage(chosen, headers['accept-language'] ?? null)),
    account: null,
    user: null,
    path: here,
    nonce,
    // No page of the base host mentions mail.
    mail: false,
    dialog: path.endsWith('/authorize') || isInDialog(path, new URLSearchParams(query).get('next')),
    sign: () => '',
  }
}
