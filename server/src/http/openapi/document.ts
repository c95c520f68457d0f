/** Builder of the OpenAPI 3.1 document of one installation, from the routes. */
import { type BaseRoute, hasXml, type Method, pathsOf } from '../route.ts'
import type { Body, Properties, Property } from '../schema.ts'
import { curlFor } from './curl.ts'
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
import { MEDIA_TYPES, type ResponseFormat, refusalBodies, refusedBy } from './refused.ts'
import { about, securitySchemes } from './what-it-is.ts'

/** One path with one method. */
type Described = {
  readonly method: Method
  /** Other methods are answered as well. */
  readonly everyMethod?: true | undefined
  readonly path: string
  /** Also served under /1. */
  readonly versioned: boolean
  readonly format: ResponseFormat
  readonly operation: Operation
}

/** What differs between the documents of the interface and of the management API. */
export type DocumentSubject = Pick<OpenApiDocument, 'info'> & {
  readonly tags: Readonly<Record<string, string>>
  readonly securitySchemes: Readonly<Record<string, Schema>>
  readonly refusalBodies: readonly Body[]
  readonly externalDocs: (publicUrl: string) => OpenApiDocument['externalDocs']
}

const INTERFACE: DocumentSubject = {
  info: about,
  tags,
  securitySchemes,
  refusalBodies,
  externalDocs: (publicUrl) => ({
    url: `${publicUrl}/reference`,
    description: 'The same for people, with commands to copy',
  }),
}

export function describeRoutes(
  routes: readonly BaseRoute[],
  publicUrl: string,
  subject: DocumentSubject = INTERFACE,
): OpenApiDocument {
  const paths: Record<string, PathItem> = {}
  const responses: Record<string, ResponseObject> = {}
  const requestBodies: Record<string, RequestBody> = {}
  const described = [...inOrder(routes), ...inXml(routes)]
  /** Operations with the same form share one request body, named after the first of them. */
  const bodyName = (form: Properties) => described.find(({ operation }) => operation.form === form)?.operation.id ?? ''
  for (const each of described) {
    const { path, method, versioned, operation } = each
    const { form, json } = operation
    if (form) requestBodies[bodyName(form)] = bodyFor(form)
    if (json) requestBodies[operation.id] = jsonBodyFor(json)
    const made = describeOperation(each, publicUrl, form ? bodyName(form) : json && operation.id)
    Object.assign(responses, made.components)
    paths[path] = {
      ...paths[path],
      ...(versioned ? { servers: versions(publicUrl) } : {}),
      [method.toLowerCase()]: made.operation,
    }
  }
  return {
    openapi: '3.1.1',
    info: subject.info,
    servers: [{ url: publicUrl }],
    externalDocs: subject.externalDocs(publicUrl),
    tags: Object.entries(subject.tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: namedSchemas(described, subject.refusalBodies),
      requestBodies,
      responses,
      securitySchemes: subject.securitySchemes,
    },
  }
}

/** The version prefix is optional. Two servers express that in OpenAPI without listing every path twice. */
function versions(publicUrl: string) {
  return [
    { url: publicUrl, description: 'Version 1, left out' },
    { url: `${publicUrl}/1`, description: 'Version 1, named' },
  ]
}

const FORMATS = {
  interface: 'json',
  standard: 'standard',
  plain: 'json',
  page: 'page',
  manage: 'manage',
  scim: 'scim',
} as const

function inOrder(routes: readonly BaseRoute[]): Described[] {
  return routes.flatMap((route): Described[] => {
    const { method, everyMethod, path, dialect, operation } = route
    const versioned = pathsOf(route).includes(`/1${path}`)
    return operation ? [{ method, everyMethod, path, versioned, format: FORMATS[dialect], operation }] : []
  })
}

function inXml(routes: readonly BaseRoute[]): Described[] {
  return routes
    .filter(hasXml)
    .flatMap(({ method, everyMethod, path, operation }): Described[] =>
      operation ? [{ method, everyMethod, path: `${path}.xml`, versioned: true, format: 'xml', operation }] : [],
    )
}

type Made = { readonly operation: OperationObject; readonly components: Readonly<Record<string, ResponseObject>> }

function describeOperation(
  { method, everyMethod, path, format, operation }: Described,
  publicUrl: string,
  body: string | undefined,
): Made {
  const { id } = operation
  const refused = refusedBy(operation, format, everyMethod ? null : method)
  const parameters = [
    ...parametersIn('path', operation.path),
    ...parametersIn('query', operation.query),
    ...parametersIn('header', operation.headers),
  ]
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
      ...(body === undefined ? {} : { requestBody: { $ref: `#/components/requestBodies/${body}` } }),
      responses: answersOf(operation, format, refused.responses),
      ...(xml ? {} : { 'x-codeSamples': samplesFor(operation, method, url) }),
    },
  }
}

function requirement(name: Security): Record<string, string[]> {
  return name === 'none' ? {} : { [name]: [] }
}

function parametersIn(place: 'path' | 'query' | 'header', properties: Properties = {}): Parameter[] {
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = propertySchema(property)
    const about = typeof description === 'string' ? { description } : {}
    return { name, in: place, required: !property.optional, ...about, schema }
  })
}

function bodyFor(form: Properties): RequestBody {
  const content = { schema: objectSchema(form) }
  return {
    required: !Object.values(form)[0]?.optional,
    content: { 'application/x-www-form-urlencoded': content, 'multipart/form-data': content },
  }
}

function jsonBodyFor(json: Properties): RequestBody {
  return { required: requiredIn(json).length > 0, content: { 'application/json': { schema: objectSchema(json) } } }
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

function responseFor({ description, body, page, headers }: Answered, format: ResponseFormat): ResponseObject {
  return {
    description,
    ...(headers ? { headers: headersOf(headers) } : {}),
    ...(body ? { content: { [MEDIA_TYPES[format]]: { schema: { $ref: `#/components/schemas/${body.name}` } } } } : {}),
    ...(page ? { content: { [MEDIA_TYPES.page]: { schema: { type: 'string' } } } } : {}),
  }
}

function headersOf(fields: Properties): Record<string, Header> {
  const made = parametersIn('header', fields).map(({ name, in: _, ...header }) => [name, header] as const)
  return Object.fromEntries(made)
}

function samplesFor(operation: Operation, method: Method, url: string) {
  const required = requiredIn(operation.form ?? operation.json ?? {})
  const samples = operation.samples ?? [{ label: 'Try it', send: required }]
  return samples.map(({ label, send }) => ({ lang: 'Shell', label, source: curlFor(url, method, operation, send) }))
}

function namedSchemas(described: readonly Described[], refusalBodies: readonly Body[]): Record<string, Schema> {
  const bodies = described.flatMap(({ operation }) =>
    Object.values(operation.answers).flatMap(({ body }) => body ?? []),
  )
  return Object.fromEntries([...bodies, ...refusalBodies].map((body) => [body.name, bodySchema(body)]))
}

function bodySchema({ description, properties, xml }: Body): Schema {
  const example = exampleOf(properties)
  // The XML root element is the same for every response.
  const about = { description, ...(xml ? { xml: { name: 'response' } } : {}) }
  return { ...objectSchema(properties), ...about, ...(example ? { examples: [example] } : {}) }
}

export function objectSchema(properties: Properties): Schema {
  const required = requiredIn(properties)
  const schemas = Object.entries(properties).map(([name, property]) => [name, propertySchema(property)])
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties: Object.fromEntries(schemas) }
}

function requiredIn(properties: Properties): string[] {
  return Object.keys(properties).filter((name) => !properties[name]?.optional)
}

function propertySchema(property: Property): Schema {
  const {
    optional: _,
    missing: __,
    alias: ___,
    elsewhere: ____,
    nullable,
    properties,
    items,
    type,
    ...schema
  } = property
  return {
    type: nullable ? [type, 'null'] : type,
    ...schema,
    ...(items ? { items: propertySchema(items) } : {}),
    ...(properties ? objectSchema(properties) : {}),
  }
}

/** An example response, from each field's example or constant. Null if a field has neither: the schema is too large. */
function exampleOf(properties: Properties): Schema | null {
  const fields = Object.entries(properties).map(([name, field]) => [name, field.const ?? field.examples?.[0]] as const)
  return fields.some(([, value]) => value === undefined) ? null : Object.fromEntries(fields)
}
