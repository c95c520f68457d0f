/** A route for programs: method, path, handler and dialect. routes.ts lists them. */
import type { Context } from '../flows/context.ts'
import type { Answer } from './answer.ts'
import type { OperationId } from './openapi/operations.ts'
import type { FormFields } from './parameters.ts'

/** What a handler may know of a request. Not the URL: a secret may be in it. */
export type ApiRequest = {
  /** Throws a Refusal, now or later. */
  parameters(): FormFields | Promise<FormFields>
  /** Of the form alone: the standard dialect knows no secrets in addresses (RFC 6749, section 2.3.1). Throws a Refusal. */
  form(): FormFields | Promise<FormFields>
  header(name: string): string | null
  /** Where the client is, as far as we can know. */
  address(): string | null
  readonly draining: boolean
}

export type Handler = (context: Context, request: ApiRequest) => Promise<Answer>

export type Route = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly handler: Handler
  /** `interface`: also under /1, and both also with .xml. `standard`: just the path, in the words of the RFCs. `plain`: just the path. */
  readonly dialect: 'interface' | 'standard' | 'plain'
  /** What it takes and answers: openapi/operations.ts. */
  readonly operation: OperationId
}
