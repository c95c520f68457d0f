/**
 * Requests for an account's own host: which account, who is there, which door; then the checks that every door has, in one
 * place, so that no handler can forget one.
 *
 * `http/account/` is the web interface on the wire. A handler reads fields, calls one flow and picks a page.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../core/refusal.ts'
import { accountOrigin } from '../../flows/account-address.ts'
import type { Context } from '../../flows/context.ts'
import { isFresh, visit } from '../../flows/visit.ts'
import { findAsset } from '../../pages/assets.ts'
import type { Frame } from '../../pages/layout.tsx'
import { refusalPage } from '../../pages/refusal.tsx'
import { chooseLanguage, wordsFor } from '../../pages/words.ts'
import { isSignedForm, signForm } from '../../secrets/web-texts.ts'
import { Unavailable } from '../../store/postgres.ts'
import type { Visit, Visitor } from '../../store/sessions.ts'
import type { AddressReader } from '../client-address.ts'
import { type Parameters, readParameters } from '../parameters.ts'
import type { PageAnswer, PageRequest, UserRequest } from './answer.ts'
import { BROWSER, LANGUAGE, readCookie, SESSION } from './cookies.ts'
import { type PageDoor, pageDoors } from './doors.ts'
import { respondAsset, respondPage, type Surroundings } from './respond.ts'
import { isSameOrigin } from './same-origin.ts'
import { readUpload } from './upload.ts'

export type Asked = { readonly slug: string; readonly path: string; readonly query: string }

type Doors = ReadonlyMap<string, Readonly<Partial<Record<'GET' | 'POST', PageDoor>>>>

const doors: Doors = openPageDoors()

function openPageDoors(): Doors {
  const paths = new Map<string, Partial<Record<'GET' | 'POST', PageDoor>>>()
  for (const door of pageDoors) paths.set(door.path, { ...paths.get(door.path), [door.method]: door })
  return paths
}

/** Until then the answer has arrived: what is done afterwards cannot be heard in it. */
const A_BEAT_MS = 200

export function isPagePath(path: string): boolean {
  return doors.has(path)
}

/** `track` is given what goes on after an answer, so that the process does not end before it is done. */
export function createAccountServer(context: Context, addressOf: AddressReader, track: (work: Promise<void>) => void) {
  const secure = context.config.publicUrl.startsWith('https:')
  return async (request: IncomingMessage, response: ServerResponse, asked: Asked): Promise<void> => {
    const asset = findAsset(asked.path)
    if (asset) return respondAsset(request, response, asset, secure)
    const nonce = randomBytes(16).toString('base64')
    let frame = frameFor(context, request, asked, nonce, null)
    const around: Surroundings = {
      nonce,
      secure,
      refuse: (code) => refusalPage(frame, { code }),
    }
    try {
      const visited = await visit(context, asked.slug, readCookie(request.headers.cookie, SESSION))
      if (!visited) return respondPage(response, around, { refusal: 'no_account' })
      frame = frameFor(context, request, asked, nonce, visited)
      const given = await answer(context, request, asked, visited, frame, addressOf)
      respondPage(response, around, given)
      if (given.afterwards) {
        const work = sleep(A_BEAT_MS).then(given.afterwards)
        track(work.catch((error) => context.events.taskFailed('writing a mail', error)))
      }
    } catch (error) {
      respondPage(response, around, { refusal: refusalFor(context, error) })
    }
  }
}

async function answer(
  context: Context,
  request: IncomingMessage,
  { slug, path, query }: Asked,
  { account, visitor, now }: Visit,
  frame: Frame,
  addressOf: AddressReader,
): Promise<PageAnswer> {
  const methods = doors.get(path)
  if (!methods) return { refusal: 'not_found' }
  const door = methods[request.method === 'HEAD' ? 'GET' : (request.method as 'GET' | 'POST')]
  if (!door) return { refusal: 'method_not_allowed', allow: Object.keys(methods).join(', ') }
  const posted = door.method === 'POST'
  if (posted && !isSameOrigin(request.headers, accountOrigin(context, slug))) return { refusal: 'stale' }

  const back = posted ? (door.from ?? '/') : `${path}${query === '' ? '' : `?${query}`}`
  if (door.access !== 'anyone' && !visitor) return { seeOther: `/sign-in?next=${encodeURIComponent(back)}` }
  if (door.access === 'administrator' && !visitor?.administrator) return { refusal: 'forbidden' }

  const { fields, file } = posted
    ? await readUpload(request, door.file ?? null)
    : { fields: await readParameters(query, undefined), file: null }
  // PostgreSQL cannot keep it, and nobody types it.
  if ([...fields.values()].some((value) => value.includes('\0'))) return { refusal: 'invalid_request' }
  if (posted && door.access !== 'anyone' && visitor && !isSigned(context, visitor, door, fields)) {
    return { refusal: 'stale' }
  }
  if (door.fresh && visitor && !isFresh(context, visitor, now)) {
    return { seeOther: `/confirm?next=${encodeURIComponent(back)}` }
  }

  const agent = request.headers['user-agent']?.slice(0, 200) ?? null
  const address = addressOf(request.socket.remoteAddress, forwardedFor(request))
  const browser = { address, agent, known: readCookie(request.headers.cookie, BROWSER) }
  const given: PageRequest = { account, visitor, now, fields, file, frame, browser }
  if (door.access === 'anyone') return door.handler(context, given)
  return visitor ? door.handler(context, { ...given, visitor } satisfies UserRequest) : { refusal: 'forbidden' }
}

function isSigned(context: Context, visitor: Visitor, door: PageDoor, fields: Parameters): boolean {
  const bound = Object.fromEntries((door.bound ?? []).map((name) => [name, fields.get(name) ?? '']))
  const holder = { userId: visitor.id, sessionCreatedAt: visitor.session.createdAt }
  return isSignedForm(context.config.keys, holder, door.path, bound, fields.get('token') ?? '')
}

function frameFor(
  context: Context,
  request: IncomingMessage,
  { slug, path, query }: Asked,
  nonce: string,
  visited: Visit | null,
): Frame {
  const account = visited?.account ?? null
  const visitor = visited?.visitor ?? null
  const chosen = readCookie(request.headers.cookie, LANGUAGE) ?? visitor?.language ?? null
  return {
    words: wordsFor(chooseLanguage(chosen, request.headers['accept-language'] ?? null)),
    account: account && {
      name: account.name,
      host: new URL(accountOrigin(context, slug)).host,
      colour: account.colour,
      logo: account.logoVersion && `/logo?version=${account.logoVersion}`,
    },
    user: visitor && { email: visitor.email, administrator: visitor.administrator },
    path: `${path}${query === '' ? '' : `?${query}`}`,
    nonce,
    sign: (action, bound) =>
      visitor === null
        ? ''
        : signForm(
            context.config.keys,
            { userId: visitor.id, sessionCreatedAt: visitor.session.createdAt },
            action,
            bound,
          ),
  }
}

function forwardedFor(request: IncomingMessage): string | null {
  const given = request.headers['x-forwarded-for']
  return typeof given === 'string' ? given : null
}

function refusalFor(context: Context, error: unknown) {
  if (error instanceof Unavailable) return 'unavailable'
  if (error instanceof Refusal) return error.code === 'payload_too_large' ? 'payload_too_large' : 'invalid_request'
  context.events.unexpected('account pages', error)
  return 'server_error'
}
