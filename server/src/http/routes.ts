/**
 * Route table for programs, in the order of docs/interface.md; any other path is a 404. The routes for browsers are in
 * web/base-routes.ts and web/account-routes.ts.
 */
import { decideTest, polling, requestCode } from './device/endpoints.ts'
import { me, report, verify } from './grants/credential-endpoints.ts'
import { exchange, refresh, revoke, rotateKey } from './grants/token-endpoints.ts'
import { live, ready } from './health-endpoints.ts'
import { description } from './openapi/description.ts'
import type { Route } from './route.ts'
import { authorizeDevice } from './standard/device-endpoint.ts'
import { metadata } from './standard/metadata.ts'
import { pushRequest } from './standard/pushed-requests.ts'
import { introspect, revokeToken } from './standard/token-checks.ts'
import { token } from './standard/token-endpoint.ts'

type BareRoute = Omit<Route, 'dialect'>

const interfaceRoutes: readonly BareRoute[] = [
  { method: 'POST', path: '/auth/oauth/device/code', handler: requestCode('token_set'), operation: 'requestTokenCode' },
  { method: 'POST', path: '/auth/key/device/code', handler: requestCode('access_key'), operation: 'requestKeyCode' },
  { method: 'POST', path: '/auth/oauth/device/polling', handler: polling('token_set'), operation: 'pollForTokenSet' },
  { method: 'POST', path: '/auth/key/device/polling', handler: polling('access_key'), operation: 'pollForAccessKey' },
  { method: 'POST', path: '/auth/test/decision', handler: decideTest, operation: 'decideTestCode' },
  { method: 'POST', path: '/auth/oauth/token', handler: exchange, operation: 'exchangeCode' },
  { method: 'POST', path: '/auth/oauth/refresh', handler: refresh, operation: 'refreshTokenSet' },
  { method: 'POST', path: '/auth/oauth/revoke', handler: revoke('token_set'), operation: 'revokeTokenSet' },
  { method: 'POST', path: '/auth/key/rotate', handler: rotateKey, operation: 'rotateAccessKey' },
  { method: 'POST', path: '/auth/key/revoke', handler: revoke('access_key'), operation: 'revokeAccessKey' },
  { method: 'POST', path: '/auth/report', handler: report, operation: 'reportCredential' },
  { method: 'GET', path: '/me', handler: me, operation: 'describeCredential' },
  { method: 'GET', path: '/auth/verify', handler: verify, operation: 'verifyCredential' },
]

const standardRoutes: readonly BareRoute[] = [
  { method: 'GET', path: '/.well-known/oauth-authorization-server', handler: metadata, operation: 'readMetadata' },
  { method: 'POST', path: '/oauth/par', handler: pushRequest, operation: 'pushRequest' },
  { method: 'POST', path: '/oauth/device_authorization', handler: authorizeDevice, operation: 'authorizeDevice' },
  { method: 'POST', path: '/oauth/token', handler: token, operation: 'token' },
  { method: 'POST', path: '/oauth/introspect', handler: introspect, operation: 'introspect' },
  { method: 'POST', path: '/oauth/revoke', handler: revokeToken, operation: 'revokeToken' },
]

const plainRoutes: readonly BareRoute[] = [
  { method: 'GET', path: '/health/live', handler: live, operation: 'checkLive' },
  { method: 'GET', path: '/health/ready', handler: ready, operation: 'checkReady' },
  { method: 'GET', path: '/openapi.json', handler: description(() => routes), operation: 'readDescription' },
]

const inDialect = (dialect: Route['dialect']) => (route: BareRoute) => ({ ...route, dialect })

export const routes: readonly Route[] = [
  ...interfaceRoutes.map(inDialect('interface')),
  ...standardRoutes.map(inDialect('standard')),
  ...plainRoutes.map(inDialect('plain')),
]

/** All paths of a route: those of the native dialect also begin with /1 and end with .xml. */
export function pathsOf({ path, dialect }: Route): readonly string[] {
  return dialect === 'interface' ? [path, `/1${path}`, `${path}.xml`, `/1${path}.xml`] : [path]
}
