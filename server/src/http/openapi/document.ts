/** Builder of the OpenAPI 3.1 document of one installation, from the routes. */
import type { TObject, TSchema } from 'typebox'
import type { Route } from '../route.ts'
import { exampleOf, type SchemaName, schemas } from './answers.ts'
import { curlFor } from './curl.ts'
import { browserRoutes } from './dialog-operations.ts'
import type {
  Header,
  OpenApiDocument,
  OperationObject,
  Parameter,
  PathItem,
  Reference,
  RequestBody,
  ResponseObject,
  Schema,
} from './document-types.ts'
import { type Answered, type Operation, type Security, tags } from './operation.ts'
import { type OperationId, operations } from './operations.ts'
import { MEDIA_TYPES, type ResponseFormat, refusedBy } from './refused.ts'
import { about, securitySchemes } from './what-it-is.ts'

/** One path with one method. */
type Described = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Also served under /1. */
  readonly versioned: boolean
  readonly format: ResponseFormat
  readonly id: OperationId
}

export function describeRoutes(routes: readonly Route[], publicUrl: string): OpenApiDocument {
  const paths: Record<string, PathItem> = {}
  const responses: Record<string, ResponseObject> = {}
  const requestBodies: Record<string, RequestBody> = {}
  for (const described of [...inOrder(routes), ...inXml(routes)]) {
    const { path, method, versioned, id } = described
    const { form } = operations[id]
    if (form) requestBodies[bodyName(id)] = bodyFor(form)
    const made = describeOperation(described, publicUrl)
    Object.assign(responses, made.components)
    paths[path] = {
      ...paths[path],
      ...(versioned ? { servers: versions(publicUrl) } : {}),
      [method.toLowerCase()]: made.operation,
    }
  }
  return {
    openapi: '3.1.1',
    info: about,
    servers: [{ url: publicUrl }],
    externalDocs: { url: `${publicUrl}/reference`, description: 'The same for people, with commands to copy' },
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas: namedSchemas(paths), requestBodies, responses, securitySchemes },
  }
}

/** The version prefix is optional. Two servers express that in OpenAPI without listing every path twice. */
function versions(publicUrl: string) {
  return [
    { url: publicUrl, description: 'Version 1, left out' },
    { url: `${publicUrl}/1`, description: 'Version 1, named' },
  ]
}

const FORMATS = { interface: 'json', standard: 'standard', plain: 'json' } as const

function inOrder(routes: readonly Route[]): Described[] {
  return routes.flatMap(({ method, path, dialect, operation }): Described[] => {
    const ahead = browserRoutes.filter(({ before }) => before === path)
    return [
      ...ahead.map((route): Described => ({ ...route, format: 'page', id: route.operation })),
      { method, path, versioned: dialect === 'interface', format: FORMATS[dialect], id: operation },
    ]
  })
}

function inXml(routes: readonly Route[]): Described[] {
  const spoken = routes.filter(({ dialect }) => dialect === 'interface')
  return spoken.map(({ method, path, operation }) => {
    return { method, path: `${path}.xml`, versioned: true, format: 'xml', id: operation }
  })
}

type Made = { readonly operation: OperationObject; readonly components: Readonly<Record<string, ResponseObject>> }

function describeOperation({ method, path, format, id }: Described, publicUrl: string): Made {
  const operation = operations[id]
  const refused = refusedBy(operation, format, method)
  const parameters = [...parametersIn('query', operation.query), ...parametersIn('header', operation.headers)]
  const xml = format === 'xml'
  const url = publicUrl + path
  return {
    components: refused.components,
    operation: {
      operationId: xml ? `${id}InXml` : id,
      tags: [xml ? 'XML' : operation.tag],
      summary: xml ? `${operation.summary}, in XML` : operation.summary,
      description: xml ? `As \`${method} ${path.replace(/\.xml$/, '')}\`, in XML.` : operation.description,
      security: operation.security.map(requirement),
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(operation.form ? { requestBody: { $ref: `#/components/requestBodies/${bodyName(id)}` } } : {}),
      responses: answersOf(operation, format, refused.responses),
      ...(xml ? {} : { 'x-codeSamples': samplesFor(operation, method, url) }),
    },
  }
}

function requirement(name: Security): Record<string, string[]> {
  return name === 'none' ? {} : { [name]: [] }
}

function parametersIn(place: 'query' | 'header', fields: TObject | undefined): Parameter[] {
  return Object.entries(fields?.properties ?? {}).map(([name, property]) => {
    const { description, ...schema } = plain(property)
    const about = typeof description === 'string' ? { description } : {}
    return { name, in: place, required: isRequired(fields, name), ...about, schema }
  })
}

function isRequired(fields: TObject | undefined, name: string): boolean {
  return (fields as { required?: readonly string[] } | undefined)?.required?.includes(name) ?? false
}

/** Operations with the same form share one request body. */
function bodyName(id: OperationId): string {
  const { form } = operations[id]
  const first = Object.entries(operations).find(([, operation]) => operation.form === form)
  return first?.[0] ?? id
}

function bodyFor(form: TObject): RequestBody {
  const content = { schema: plain(form) }
  return {
    required: isRequired(form, Object.keys(form.properties)[0] ?? ''),
    content: { 'application/x-www-form-urlencoded': content, 'multipart/form-data': content },
  }
}

/**
 * Merges responses and refusals. If both have the same status (the dialog's page), the response keeps its description
 * and takes over the refusal codes as examples.
 */
function answersOf(
  operation: Operation,
  format: ResponseFormat,
  refused: Readonly<Record<string, ResponseObject | Reference>>,
): Record<string, ResponseObject | Reference> {
  const answers = Object.entries(operation.answers).map(([status, answered]) => {
    const same = refused[status]
    const given = responseFor(answered, format)
    return [status, same && 'content' in same ? { ...same, description: given.description } : given]
  })
  return { ...refused, ...Object.fromEntries(answers) }
}

function responseFor({ description, schema, page, headers }: Answered, format: ResponseFormat): ResponseObject {
  return {
    description,
    ...(headers ? { headers: headersOf(headers) } : {}),
    ...(schema ? { content: { [MEDIA_TYPES[format]]: { schema: { $ref: `#/components/schemas/${schema}` } } } } : {}),
    ...(page ? { content: { [MEDIA_TYPES.page]: { schema: { type: 'string' } } } } : {}),
  }
}

function headersOf(fields: TObject): Record<string, Header> {
  const made = parametersIn('header', fields).map(({ name, in: _, ...header }) => [name, header] as const)
  return Object.fromEntries(made)
}

function samplesFor(operation: Operation, method: 'GET' | 'POST', url: string) {
  const required = Object.keys(operation.form?.properties ?? {}).filter((name) => isRequired(operation.form, name))
  const samples = operation.samples ?? [{ label: 'Try it', send: required }]
  return samples.map(({ label, send }) => ({ lang: 'Shell', label, source: curlFor(url, method, operation, send) }))
}

/** Only the schemas that are referenced. */
function namedSchemas(paths: Readonly<Record<string, PathItem>>): Record<string, Schema> {
  const text = JSON.stringify(paths)
  const named = Object.entries(schemas).filter(([name]) => isAnswered(text, name))
  return Object.fromEntries(
    named.map(([name, schema]) => {
      const example = exampleOf(name as SchemaName)
      return [name, { ...plain(schema), ...(example ? { examples: [example] } : {}) }]
    }),
  )
}

/** Refusal schemas are always included: they may be referenced by shared responses only. */
function isAnswered(text: string, name: string): boolean {
  return name.endsWith('Refusal') || text.includes(`"#/components/schemas/${name}"`)
}

/** Strips the properties that only typebox uses. */
function plain(schema: TSchema): Schema {
  return JSON.parse(JSON.stringify(schema))
}
