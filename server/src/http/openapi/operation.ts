/**
 * Description of one route: its parameters, its responses, and the refusals it can return. It stands beside the handler,
 * which reads requests by the same schemas (http/schema.ts).
 *
 * `http/openapi/` writes the OpenAPI 3.1 document from these descriptions. It is loaded on first request: no CLI command
 * needs it.
 */
import type { RefusalCode } from '../../core/refusal.ts'
import type { Body, Properties } from '../schema.ts'

export const tags = {
  'Device flow':
    'For devices without a browser, and wherever typing is a chore. Request a code, show `user_code`, poll until there is a final outcome. The path chooses what you get in the end: a token set (`oauth`) or an access key (`key`).',
  Dialog:
    'For applications that can open a window. The user decides in it, the browser comes back to your `redirect_uri` with a code, and your server exchanges the code for a token set.',
  Credentials:
    'What you do with a token set or an access key once you hold one: renew, replace, check, give up, report. The credential itself goes into `Authorization: Bearer …`, and nowhere else.',
  'Standard dialect':
    'The same service in the words of the RFCs, for libraries that speak OAuth 2. Start with the metadata: most libraries need nothing but its address. Errors are `error` and `error_description`; scopes are separated by spaces; parameters are read from the form only.',
  'Health and description': 'For balancers, and for tools that read this document.',
  XML: 'The native dialect once more. With `.xml` after the path everything is the same, but the answer is XML: the same fields as elements under `<response>`.',
} as const

export type Tag = Exclude<keyof typeof tags, 'XML'> | ManagementTag

export const managementTags = {
  Accounts: 'The accounts of the service. A key of one account sees that account only.',
  Users: 'The users of an account: who they are, their roles, and whether they may sign in.',
  Roles: 'Named sets of scopes, each of one account.',
  Scopes: 'The catalogue of everything that can be granted.',
  Applications: 'The applications that an account registered, and their secrets.',
  Grants: 'What users allowed applications.',
  Webhooks: 'Addresses to which the events of an application are sent.',
  Reviews: 'Applications under review. Operators decide about them in their console.',
  Audit: 'The audit log, in the order of its chain.',
  SCIM: 'RFC 7644: users of one account, for identity providers. A key of one account is the token.',
} as const

export type ManagementTag = keyof typeof managementTags

/** An operation lists alternatives, one of which suffices. `none`: nothing beyond the form's fields. */
export type Security = 'credential' | 'applicationInForm' | 'applicationBasic' | 'managementKey' | 'none'

export type Answered = {
  readonly description: string
  /** Absent if the result is in the headers. */
  readonly body?: Body
  /** The response is an HTML page. */
  readonly page?: true
  readonly headers?: Properties
}

export type Operation = {
  /** The operationId, which generated clients use as the function name. */
  readonly id: string
  readonly tag: Tag
  readonly summary: string
  /** Paragraphs, with `code` as the only markup: /reference renders nothing else. */
  readonly description: string
  readonly security: readonly Security[]
  readonly form?: Properties
  /** Members of the JSON body. */
  readonly json?: Properties
  /** Named segments of the path. */
  readonly path?: Properties
  readonly query?: Properties
  readonly headers?: Properties
  readonly answers: Readonly<Partial<Record<200 | 201 | 204 | 303 | 400 | 403, Answered>>>
  /** Specific to this operation. refused.ts adds those that every route can return. */
  readonly refusals: readonly RefusalCode[]
  /** A poll has exactly six outcomes: even an internal error becomes one of them (flows/device/poll.ts). */
  readonly noOther?: true
  /** curl commands. `send`: names of parameters, or `name=value`. Absent: one command with the required parameters. */
  readonly samples?: readonly { readonly label: string; readonly send: readonly string[] }[]
}
