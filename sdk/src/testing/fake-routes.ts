/** Routes of the fake and their handlers. */
import { type FakeAnswer, type FakeParameters, FakeRefused, readParameters } from './fake-answer.ts'
import { me, refresh, revoke, rotateKey, verify } from './fake-credentials.ts'
import { poll, requestCode } from './fake-device.ts'
import { exchange } from './fake-dialog.ts'
import { authorizeDevice, introspect, token } from './fake-standard.ts'
import type { FakeWorld } from './fake-world.ts'

type Route = (world: FakeWorld, parameters: FakeParameters, request: Request) => FakeAnswer | Promise<FakeAnswer>

const ROUTES: Readonly<Record<string, Route>> = {
  'POST /auth/oauth/device/code': (...asked) => requestCode('token_set', asked[0], asked[1]),
  'POST /auth/key/device/code': (...asked) => requestCode('access_key', asked[0], asked[1]),
  'POST /auth/oauth/device/polling': (...asked) => poll('token_set', ...asked),
  'POST /auth/key/device/polling': (...asked) => poll('access_key', ...asked),
  'POST /auth/oauth/token': exchange,
  'POST /auth/oauth/refresh': refresh,
  'POST /auth/oauth/revoke': (...asked) => revoke('token', asked[0], asked[1]),
  'POST /auth/key/rotate': rotateKey,
  'POST /auth/key/revoke': (...asked) => revoke('access_key', asked[0], asked[1]),
  'POST /oauth/device_authorization': authorizeDevice,
  'POST /oauth/token': token,
  'POST /oauth/introspect': introspect,
  'GET /auth/verify': verify,
  'GET /me': me,
}

export async function answerTo(world: FakeWorld, request: Request, pathname: string): Promise<FakeAnswer> {
  const path = pathname.startsWith('/1/') ? pathname.slice(2) : pathname
  const route = ROUTES[`${request.method} ${path}`]
  try {
    if (route) return await route(world, await readParameters(request), request)
    const other = ['GET', 'POST'].find((method) => `${method} ${path}` in ROUTES)
    throw other ? new FakeRefused('method_not_allowed', { allow: other }) : new FakeRefused('not_found')
  } catch (error) {
    if (!(error instanceof FakeRefused)) throw error
    // A poll has exactly six outcomes: a malformed one is answered `invalid`.
    const unreadable = path.endsWith('/polling') && error.message === 'invalid_request'
    return unreadable ? { refusal: 'invalid' } : error.answer
  }
}
