/** Every door for programs, in the order of docs/interface.md; those for browsers are in base/doors.ts and account/doors.ts. What is not here is a 404. */
import type { Context } from '../flows/context.ts'
import type { Answer } from './answer.ts'
import { me, report, verify } from './credential-endpoints.ts'
import { polling, requestCode } from './device-endpoints.ts'
import { live, ready } from './health-endpoints.ts'
import type { Parameters } from './parameters.ts'
import { authorizeDevice } from './standard/device-endpoint.ts'
import { metadata } from './standard/metadata.ts'
import { pushRequest } from './standard/pushed-requests.ts'
import { introspect, revokeToken } from './standard/token-checks.ts'
import { token } from './standard/token-endpoint.ts'
import { exchange, refresh, revoke, rotateKey } from './token-endpoints.ts'

/** What a handler may know of a request. Not the URL: a secret may be in it. */
export type Request = {
  /** Throws a Refusal, now or later. */
  parameters(): Parameters | Promise<Parameters>
  /** Of the form alone: the standard dialect knows no secrets in addresses (RFC 6749, section 2.3.1). Throws a Refusal. */
  form(): Parameters | Promise<Parameters>
  header(name: string): string | null
  /** Where the client is, as far as we can know. */
  address(): string | null
  readonly draining: boolean
}

export type Handler = (context: Context, request: Request) => Promise<Answer>

export type Door = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly handler: Handler
  /** `interface`: also under /1, and both also with .xml. `standard`: just the path, in the words of the RFCs. `plain`: just the path. */
  readonly face: 'interface' | 'standard' | 'plain'
}

export const doors: readonly Door[] = [
  { method: 'POST', path: '/auth/oauth/device/code', handler: requestCode('token_set'), face: 'interface' },
  { method: 'POST', path: '/auth/key/device/code', handler: requestCode('access_key'), face: 'interface' },
  { method: 'POST', path: '/auth/oauth/device/polling', handler: polling('token_set'), face: 'interface' },
  { method: 'POST', path: '/auth/key/device/polling', handler: polling('access_key'), face: 'interface' },
  { method: 'POST', path: '/auth/oauth/token', handler: exchange, face: 'interface' },
  { method: 'POST', path: '/auth/oauth/refresh', handler: refresh, face: 'interface' },
  { method: 'POST', path: '/auth/oauth/revoke', handler: revoke('token_set'), face: 'interface' },
  { method: 'POST', path: '/auth/key/rotate', handler: rotateKey, face: 'interface' },
  { method: 'POST', path: '/auth/key/revoke', handler: revoke('access_key'), face: 'interface' },
  { method: 'POST', path: '/auth/report', handler: report, face: 'interface' },
  { method: 'GET', path: '/me', handler: me, face: 'interface' },
  { method: 'GET', path: '/auth/verify', handler: verify, face: 'interface' },

  { method: 'GET', path: '/.well-known/oauth-authorization-server', handler: metadata, face: 'standard' },
  { method: 'POST', path: '/oauth/par', handler: pushRequest, face: 'standard' },
  { method: 'POST', path: '/oauth/device_authorization', handler: authorizeDevice, face: 'standard' },
  { method: 'POST', path: '/oauth/token', handler: token, face: 'standard' },
  { method: 'POST', path: '/oauth/introspect', handler: introspect, face: 'standard' },
  { method: 'POST', path: '/oauth/revoke', handler: revokeToken, face: 'standard' },

  { method: 'GET', path: '/health/live', handler: live, face: 'plain' },
  { method: 'GET', path: '/health/ready', handler: ready, face: 'plain' },
]
