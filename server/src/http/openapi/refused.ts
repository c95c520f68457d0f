/** Refusals of an operation by status: each code with its message and remedy, from the table in core/refusal.ts. */
import { type RefusalCode, refusals } from '../../core/refusal.ts'
import type { Method } from '../route.ts'
import { type Body, oneOf, optional, text } from '../schema.ts'
import type { Example, Header, Reference, ResponseObject } from './document-types.ts'
import type { Operation } from './operation.ts'

/** Format of a route's responses. `page`: HTML. */
export type ResponseFormat = 'json' | 'xml' | 'standard' | 'page' | 'manage' | 'scim'

export const MEDIA_TYPES: Readonly<Record<ResponseFormat, string>> = {
  json: 'application/json',
  xml: 'application/xml',
  standard: 'application/json',
  page: 'text/html',
  manage: 'application/json',
  scim: 'application/scim+json',
}

/** Refusals that do not depend on the operation; described once per format. */
const SHARED: Readonly<Partial<Record<RefusalCode, string>>> = {
  method_not_allowed: 'MethodNotAllowed',
  payload_too_large: 'PayloadTooLarge',
  unsupported_media_type: 'UnsupportedMediaType',
  headers_too_large: 'HeadersTooLarge',
  server_error: 'ServerError',
  unavailable: 'Unavailable',
}

const SUFFIXES: Readonly<Record<ResponseFormat, string>> = {
  json: '',
  xml: 'Xml',
  standard: 'Standard',
  page: 'Page',
  manage: '',
  scim: 'Scim',
}

/** Returned for unknown paths, so they belong to no operation. */
const NO_OPERATION: readonly RefusalCode[] = ['not_found', 'misdirected']

export type Refused = {
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>
  /** The shared responses that `responses` refers to. */
  readonly components: Readonly<Record<string, ResponseObject>>
}

/** `method`: null if every method is answered. */
export function refusedBy(operation: Operation, format: ResponseFormat, method: Method | null): Refused {
  const codes = [...operation.refusals, ...everywhere(operation, format, method)]
  const responses: Record<string, ResponseObject | Reference> = {}
  const components: Record<string, ResponseObject> = {}
  const share = (name: string, response: ResponseObject): Reference => {
    components[name] = response
    return { $ref: `#/components/responses/${name}` }
  }
  for (const [status, group] of Map.groupBy(codes, (code) => statusOf(code, format))) {
    const [only = 'server_error'] = group
    const name = group.length === 1 ? SHARED[only] : undefined
    // Malformed HTTP is rejected before the path, and so the format, is known (http/server.ts).
    const spoken = only === 'headers_too_large' ? 'json' : format
    const response = responseFor(group, spoken)
    responses[status] = name === undefined ? response : share(name + SUFFIXES[spoken], response)
  }
  const spoken = format === 'page' ? 'json' : format
  const notHere = responseFor(NO_OPERATION, spoken)
  responses.default = share(`NotHere${SUFFIXES[spoken]}`, {
    ...notHere,
    description: `An address that is not in this document. ${notHere.description}`,
  })
  return { responses, components }
}

function everywhere({ noOther }: Operation, format: ResponseFormat, method: Method | null): RefusalCode[] {
  const ofMethod: RefusalCode[] = method === null ? [] : ['method_not_allowed']
  const ofForms: RefusalCode[] =
    format === 'page' ? ['payload_too_large'] : ['payload_too_large', 'unsupported_media_type']
  return [
    ...ofMethod,
    ...(method === 'GET' || method === null ? [] : ofForms),
    'headers_too_large',
    ...(noOther ? [] : (['server_error'] as const)),
  ]
}

/** RFC 6749, section 5.2, has no 403 (http/respond.ts); the dialog shows every error on one page with status 400. */
function statusOf(code: RefusalCode, format: ResponseFormat): number {
  const { status } = refusals[code]
  return status === 403 && (format === 'standard' || format === 'page') ? 400 : status
}

function responseFor(codes: readonly RefusalCode[], format: ResponseFormat): ResponseObject {
  const headers = headersFor(codes, format)
  const examples = Object.fromEntries(codes.map((code) => [code, exampleFor(code, format)]))
  const schema = SCHEMAS[format]
  return {
    description: `Refused: ${codes.map((code) => describe(code, format)).join(', ')}.`,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    // XML has the same fields; the tag's description shows what they look like.
    content: { [MEDIA_TYPES[format]]: format === 'xml' ? { schema } : { schema, examples } },
  }
}

/** Bodies of refusals in the two dialects. */
export const refusalBodies: readonly Body[] = [
  {
    name: 'Refusal',
    description: 'Every refusal. Let your program look at `error`; show `message` to a developer.',
    properties: {
      error: oneOf(Object.keys(refusals), 'The code, which does not change.', { examples: ['auth_pending'] }),
      message: text('A sentence for people, which may change.', { examples: [refusals.auth_pending.message] }),
    },
    xml: true,
  },
  {
    name: 'StandardRefusal',
    description: 'Every refusal of the standard dialect.',
    properties: {
      error: oneOf(
        [...new Set(Object.values(refusals).map(({ standard }) => standard))],
        'The code (RFC 6749, section 5.2, RFC 8628, section 3.5).',
        { examples: ['invalid_client'] },
      ),
      error_description: text('A sentence for people, which may change.', {
        examples: [refusals.invalid_application.message],
      }),
    },
  },
]

/** Bodies of refusals of the management API and of SCIM. */
export const managementRefusalBodies: readonly Body[] = [
  {
    name: 'Refusal',
    description: 'Every refusal. Let your program look at `error`; show the rest to a developer.',
    properties: {
      error: oneOf(Object.keys(refusals), 'The code, which does not change.', { examples: ['conflict'] }),
      message: text('What is wrong, in a sentence, which may change.', { examples: [refusals.conflict.message] }),
      remedy: optional(
        text('What to do about it; absent if the request was refused before its path was read.', {
          examples: [refusals.conflict.remedy],
        }),
      ),
    },
  },
  {
    name: 'ScimError',
    description: 'Every refusal of SCIM (RFC 7644, section 3.12).',
    properties: {
      schemas: { type: 'array', items: { type: 'string' }, description: 'The type of this message.' },
      status: text('The status, as text.'),
      scimType: optional(
        oneOf(
          ['invalidFilter', 'invalidSyntax', 'invalidValue', 'uniqueness'],
          'The kind of the problem; absent if the RFC has no word for it.',
        ),
      ),
      detail: text('What is wrong, in a sentence, which may change.'),
    },
  },
]

const SCHEMAS: Readonly<Record<ResponseFormat, Readonly<Record<string, unknown>>>> = {
  json: { $ref: '#/components/schemas/Refusal' },
  xml: { $ref: '#/components/schemas/Refusal' },
  standard: { $ref: '#/components/schemas/StandardRefusal' },
  page: { type: 'string' },
  manage: { $ref: '#/components/schemas/Refusal' },
  scim: { $ref: '#/components/schemas/ScimError' },
}

/** Adds the other dialect's code. Meaning and remedy are in the examples. */
function describe(code: RefusalCode, format: ResponseFormat): string {
  const { standard } = refusals[code]
  if (code === standard || format === 'manage' || format === 'scim') return `\`${code}\``
  return format === 'standard'
    ? `\`${standard}\` (in the native dialect \`${code}\`)`
    : `\`${code}\` (in the standard dialect \`${standard}\`)`
}

function exampleFor(code: RefusalCode, format: ResponseFormat): Example {
  const { standard, message, remedy } = refusals[code]
  const value = {
    json: { error: code, message },
    xml: null,
    standard: { error: standard, error_description: message },
    // The line for developers, at the bottom of the page.
    page: `${code}: ${message}`,
    manage: { error: code, message, remedy },
    scim: {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: String(refusals[code].status),
      detail: message,
    },
  }[format]
  const status = NO_OPERATION.includes(code) ? `HTTP ${refusals[code].status}. ` : ''
  return { summary: status + message, description: remedy, value }
}

const RETRYABLE: readonly RefusalCode[] = ['auth_pending', 'slow_down', 'too_many_requests', 'unavailable']
const CHALLENGED: readonly RefusalCode[] = ['invalid_credential', 'insufficient_scope']

function headersFor(codes: readonly RefusalCode[], format: ResponseFormat): Record<string, Header> {
  const any = (list: readonly RefusalCode[]) => codes.some((code) => list.includes(code))
  const headers: Record<string, Header> = {}
  if (any(RETRYABLE)) {
    const description = 'Seconds to wait before the next try.'
    headers['Retry-After'] = { description, schema: { type: 'integer', minimum: 1 } }
  }
  if (any(CHALLENGED) || (format === 'standard' && any(['invalid_application']))) {
    const description = 'How to authenticate.'
    headers['WWW-Authenticate'] = { description, schema: { type: 'string' } }
  }
  if (any(['method_not_allowed'])) {
    headers.Allow = { description: 'The methods that are allowed.', schema: { type: 'string' } }
  }
  return headers
}
