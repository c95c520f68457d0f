/** Routes of the fake and their handlers. */
import { type FakeAnswer, type FakeParameters, FakeRefused, readParameters } from './fake-answer.ts'
import { me, refresh, revoke, rotateKey, verify, verifyBelow } from './fake-credentials.ts'
import { poll, requestCode } from './fake-device.ts'
import { exchange } from './fake-dialog.ts'
import { authorizeDevice, introspect, token } from './fake-standard.ts'
import type { FakeWorld } from './fake-world.ts'

type Handler = (world: FakeWorld, parameters: FakeParameters, request: Request) => FakeAnswer | Promise<FakeAnswer>

/** `known`: the parameters that may be repeated with equal values. Null: none may be repeated. */
type Route = readonly [known: readonly string[] | null, handler: Handler]

const DEVICE = ['SVCappid', 'SVCsecret']
const EITHER = [...DEVICE, 'client_id', 'client_secret']
const REQUEST = [...DEVICE, 'scope', 'state', 'expires_in']
const POLL = [...DEVICE, 'device_code']

const ROUTES: Readonly<Record<string, Route>> = {
  'POST /auth/oauth/device/code': [REQUEST, (...asked) => requestCode('token_set', asked[0], asked[1])],
  'POST /auth/key/device/code': [REQUEST, (...asked) => requestCode('access_key', asked[0], asked[1])],
  'POST /auth/oauth/device/polling': [POLL, (...asked) => poll('token_set', ...asked)],
  'POST /auth/key/device/polling': [POLL, (...asked) => poll('access_key', ...asked)],
  'POST /auth/oauth/token': [[...EITHER, 'code', 'redirect_uri', 'code_verifier'], exchange],
  'POST /auth/oauth/refresh': [[...EITHER, 'refresh_token', 'scope'], refresh],
  'POST /auth/oauth/revoke': [[...EITHER, 'token'], (...asked) => revoke('token', asked[0], asked[1])],
  'POST /auth/key/rotate': [[...EITHER, 'access_key'], rotateKey],
  'POST /auth/key/revoke': [[...EITHER, 'access_key'], (...asked) => revoke('access_key', asked[0], asked[1])],
  'POST /oauth/device_authorization': [null, authorizeDevice],
  'POST /oauth/token': [null, token],
  'POST /oauth/introspect': [null, introspect],
  'GET /me': [null, me],
}

export async function answerTo(world: FakeWorld, request: Request, pathname: string): Promise<FakeAnswer> {
  const path = pathname.startsWith('/1/') ? pathname.slice(2) : pathname
  const route = ROUTES[`${request.method} ${path}`]
  try {
    if (path === '/auth/verify') return verify(world, request)
    if (path.startsWith('/auth/verify/')) return verifyBelow(world, request)
    if (route) {
      const [known, handler] = route
      return await handler(world, await readParameters(request, known), request)
    }
    const other = ['GET', 'POST'].find((method) => `${method} ${path}` in ROUTES)
    throw other ? new FakeRefused('method_not_allowed', { allow: other }) : new FakeRefused('not_found')
  } catch (error) {
    if (!(error instanceof FakeRefused)) throw error
    // A poll has exactly six outcomes: a malformed one is answered `invalid`.
    const unreadable = path.endsWith('/polling') && error.message === 'invalid_request'
    return unreadable ? { refusal: 'invalid' } : error.answer
  }
}
