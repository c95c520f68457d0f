/** A route for browsers on the base host. base-routes.ts lists them. */
import type { Context } from '../../flows/context.ts'
import type { Frame } from '../../pages/ui/frame.ts'
import type { FormFields } from '../parameters.ts'
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
