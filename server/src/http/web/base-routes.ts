/** Route table for browsers on the base host: the start of the dialog, and the choice of an account. */
import { chooseForActivation, showActivation } from '../device/activate-handlers.ts'
import { authorize, authorizeByForm, chooseForDialog, passOn, showDialog } from '../dialog/base-handlers.ts'
import { showReference } from '../openapi/reference-handler.ts'
import { chooseLanguageHere } from '../sign-in/language-handler.ts'
import type { BaseRoute } from './base-route.ts'

const AUTHORIZE = ['/auth/oauth/authorize', '/1/auth/oauth/authorize', '/oauth/authorize']

export const baseRoutes: readonly BaseRoute[] = [
  ...AUTHORIZE.flatMap((path): BaseRoute[] => [
    { method: 'GET', path, handler: authorize },
    { method: 'POST', path, handler: authorizeByForm, fromAnywhere: true },
  ]),
  { method: 'GET', path: '/dialog', handler: showDialog },
  { method: 'POST', path: '/dialog', handler: chooseForDialog },
  { method: 'GET', path: '/dialog/pass', handler: passOn },
  { method: 'GET', path: '/activate', handler: showActivation },
  { method: 'POST', path: '/activate', handler: chooseForActivation },
  { method: 'GET', path: '/reference', handler: showReference },
  { method: 'POST', path: '/language', handler: chooseLanguageHere },
]
