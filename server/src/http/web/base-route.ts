/** A route for browsers on the base host. base-routes.ts lists them. */
import type { Context } from '../../flows/context.ts'
import type { Frame } from '../../pages/ui/frame.ts'
import type { FormFields } from '../parameters.ts'
import type { PageAnswer } from './answer.ts'

export type BaseRequest = {
  readonly fields: FormFields
  readonly frame: Frame
  /** The browser's network address, as far as it can be determined (client-address.ts). */
  readonly address: string | null
  /** Null if the cookie is absent or given more than once. */
  cookie(name: string): string | null
}

export type BaseHandler = (context: Context, request: BaseRequest) => Promise<PageAnswer>

export type BaseRoute = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly handler: BaseHandler
  /** Accepts a form from an application's page, on any origin, and parameters in the query as well. */
  readonly fromAnywhere?: true
}
