/**
 * Turns of uploads, whose bodies are larger than those of other forms: of an administrator only, so that the session is
 * looked up before the body is read, and one at a time in each session.
 */
import type { IncomingMessage } from 'node:http'
import type { Context } from '../../flows/context.ts'
import { readSession } from '../../flows/sign-in/sessions.ts'
import type { PageRoute } from '../route.ts'
import type { PathRoutes } from '../router.ts'
import { readCookie, SESSION } from './cookies.ts'

export type UploadTurn = {
  /** `refuse`: the route answers without the body. */
  readonly body: 'read' | 'refuse' | 'busy'
  end(): void
}

const READ: UploadTurn = { body: 'read', end: () => {} }
const REFUSE: UploadTurn = { body: 'refuse', end: () => {} }
const BUSY: UploadTurn = { body: 'busy', end: () => {} }

export type TakeUploadTurn = (
  request: IncomingMessage,
  asked: { readonly slug: string; readonly found: PathRoutes<PageRoute> | undefined },
) => Promise<UploadTurn>

export function createUploadTurns(context: Context): TakeUploadTurn {
  const taken = new Set<string>()
  return async ({ method, headers }, { slug, found }) => {
    if (found?.byMethod.get(method ?? '')?.file === undefined) return READ
    const { sessionUser } = (await readSession(context, slug, readCookie(headers.cookie, SESSION))) ?? {}
    if (!sessionUser?.administrator) return REFUSE
    const { id } = sessionUser.session
    if (taken.has(id)) return BUSY
    taken.add(id)
    return { body: 'read', end: () => void taken.delete(id) }
  }
}
