/**
 * The OpenAPI document as served: built on first request, once per process. No CLI command needs it.
 */
import type { Context } from '../../flows/context.ts'
import type { BaseRoute, Endpoint, Handler } from '../route.ts'
import type { Body, Property } from '../schema.ts'
import type { OpenApiDocument } from './document-types.ts'

type Described = { readonly document: OpenApiDocument; readonly text: string }

const described = new Map<string, Promise<Described>>()

/** Routes are passed as a function because the document's own route is one of them. */
export function describedAt(
  { config: { publicUrl } }: Context,
  routes: () => readonly BaseRoute[],
): Promise<Described> {
  const known = described.get(publicUrl)
  if (known) return known
  const made = import('./document.ts').then(({ describeRoutes }) => {
    const document = describeRoutes(routes(), publicUrl)
    return { document, text: JSON.stringify(document) }
  })
  described.set(publicUrl, made)
  return made
}

const part: Property = { type: 'object' }
const parts: Property = { type: 'array', items: part }

const document: Body = {
  name: 'Description',
  description: 'This document: OpenAPI 3.1 says what is in it.',
  properties: {
    openapi: { type: 'string', const: '3.1.1' },
    info: part,
    servers: parts,
    externalDocs: part,
    tags: parts,
    paths: part,
    components: part,
  },
}

/** GET /openapi.json. Public data, which tools in a browser must be able to read. */
export function description(routes: () => readonly BaseRoute[]) {
  const handler: Handler = async (context) => {
    const { text } = await describedAt(context, routes)
    return { status: 200, text, type: 'application/json; charset=utf-8', allowOrigin: '*' }
  }
  return {
    method: 'GET',
    path: '/openapi.json',
    dialect: 'plain',
    handler,
    operation: {
      id: 'readDescription',
      tag: 'Health and description',
      summary: 'This document',
      description: 'OpenAPI 3.1, in JSON. For people there is the same at `/reference`.',
      security: ['none'],
      answers: { 200: { description: 'The document.', body: document } },
      refusals: [],
    },
  } as const satisfies Endpoint
}
