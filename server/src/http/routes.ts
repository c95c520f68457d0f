/**
 * Route table of the base host, in the order of docs/interface.md: endpoints for programs, and pages. Any other path is
 * a 404. The pages of accounts are in web/account-routes.ts.
 */
import { chooseLanguageHere, showServiceHome } from './accounts/home-handlers.ts'
import { chooseAccount, showActivation } from './device/activate-routes.ts'
import { pollForAccessKey, pollForTokenSet } from './device/polling-endpoints.ts'
import { requestKeyCode, requestTokenCode } from './device/request-code-endpoints.ts'
import { decideTestCode } from './device/test-decision-endpoint.ts'
import { authorize, authorizeByForm, openDialog, openDialogByForm } from './dialog/authorize-routes.ts'
import { chooseForDialog, passOn, showDialog } from './dialog/base-handlers.ts'
import { describeCredential, reportCredential } from './grants/credential-endpoints.ts'
import { revokeAccessKey, revokeTokenSet } from './grants/revoke-endpoints.ts'
import { rotateAccessKey } from './grants/rotate-endpoint.ts'
import { exchangeCode, refreshTokenSet } from './grants/token-endpoints.ts'
import { verifyCredential, verifyRequest } from './grants/verify-endpoints.ts'
import { checkLive, checkReady } from './health-endpoints.ts'
import { manageEndpoints } from './manage/routes.ts'
import { description } from './openapi/description.ts'
import { reference } from './openapi/reference-handler.ts'
import type { BasePage, BaseRoute, Endpoint } from './route.ts'
import { authorizeDevice } from './standard/device-endpoint.ts'
import { readMetadata } from './standard/metadata.ts'
import { pushRequest } from './standard/pushed-requests.ts'
import { introspect, revokeToken } from './standard/token-checks.ts'
import { token } from './standard/token-endpoint.ts'
import { SECURITY_TXT, showSecurityTxt } from './web/well-known.ts'

/** Described in the OpenAPI document, in this order. */
const described = [
  requestTokenCode,
  requestKeyCode,
  pollForTokenSet,
  pollForAccessKey,
  decideTestCode,
  openDialog,
  openDialogByForm,
  exchangeCode,
  refreshTokenSet,
  revokeTokenSet,
  rotateAccessKey,
  revokeAccessKey,
  reportCredential,
  describeCredential,
  verifyCredential,
  verifyRequest,

  readMetadata,
  authorize,
  authorizeByForm,
  pushRequest,
  authorizeDevice,
  showActivation,
  chooseAccount,
  token,
  introspect,
  revokeToken,

  checkLive,
  checkReady,
] as const

const readDescription = description(() => routes)

export type OperationId = (typeof described)[number]['operation']['id'] | (typeof readDescription)['operation']['id']

const pages: readonly BasePage[] = [
  { method: 'GET', path: '/', dialect: 'page', handler: showServiceHome },
  { method: 'GET', path: '/dialog', dialect: 'page', handler: showDialog },
  { method: 'POST', path: '/dialog', dialect: 'page', handler: chooseForDialog },
  { method: 'GET', path: '/dialog/pass', dialect: 'page', handler: passOn },
  { method: 'GET', path: '/reference', dialect: 'page', handler: reference(() => routes) },
  { method: 'POST', path: '/language', dialect: 'page', handler: chooseLanguageHere },
  { method: 'GET', path: SECURITY_TXT, dialect: 'page', handler: showSecurityTxt },
]

export const routes: readonly BaseRoute[] = [...described, readDescription, ...pages]

export const endpoints: readonly Endpoint[] = routes.filter((route) => route.dialect !== 'page')

/** The management API and SCIM have a document of their own (docs/management.md). */
export const everyEndpoint: readonly Endpoint[] = [...endpoints, ...manageEndpoints]

export const basePages: readonly BasePage[] = routes.filter((route) => route.dialect === 'page')
