/** A route for programs: method, path, handler and dialect. routes.ts lists them. */
import type { Context } from '../flows/context.ts'
import type { Answer } from './answer.ts'
import type { OperationId } from './openapi/operations.ts'
import type { FormFields } from './parameters.ts'

/** The part of a request that a handler may see. The URL is left out: it may contain a secret. */
export type ApiRequest = {
  /** Query and form together. Throws a Refusal. */
  parameters(): FormFields
  /** The form only: the standard dialect accepts no secrets in the URL (RFC 6749, section 2.3.1). Throws a Refusal. */
  form(): FormFields
  header(name: string): string | null
  /** The client's network address, as far as it can be determined (client-address.ts). */
  address(): string | null
  readonly draining: boolean
}

export type Handler = (context: Context, request: ApiRequest) => Promise<Answer>

export type Route = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly handler: Handler
  /**
   * `interface`: the path, also under /1, and both also with .xml. `standard`: only the path, with the names of the
   * RFCs. `plain`: only the path.
   */
  readonly dialect: 'interface' | 'standard' | 'plain'
  /** The OpenAPI description of the route's parameters and responses: openapi/operations.ts. */
  readonly operation: OperationId
}
