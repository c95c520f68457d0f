/** Every route for browsers on the base host: where the dialog begins, and where people are sent who do not know their account's. */
import type { Context } from '../../flows/context.ts'
import type { Frame } from '../../pages/ui/layout.tsx'
import { chooseForActivation, showActivation } from '../device/activate-handlers.ts'
import { authorize, authorizeByForm, chooseForDialog, passOn, showDialog } from '../dialog/base-handlers.ts'
import { showReference } from '../openapi/reference-handler.ts'
import type { FormFields } from '../parameters.ts'
import { chooseLanguageHere } from '../sign-in/language-handler.ts'
import type { PageAnswer } from './answer.ts'

export type BaseRequest = {
  readonly fields: FormFields
  readonly frame: Frame
  /** Where the browser is, as far as we can know. */
  readonly address: string | null
  /** Given exactly once, or null. */
  cookie(name: string): string | null
}

export type BaseHandler = (context: Context, request: BaseRequest) => Promise<PageAnswer>

export type BaseRoute = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly handler: BaseHandler
  /** An application's page may send its form here, and parameters may be in the address as well. */
  readonly fromAnywhere?: true
}

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
