/**
 * The OpenAPI document as served: built on first request, once per process. Loading it takes longer than the rest of a
 * CLI command, which never needs it.
 */
import type { Context } from '../../flows/context.ts'
import type { Handler, Route } from '../route.ts'
import type { OpenApiDocument } from './document-types.ts'

type Described = { readonly document: OpenApiDocument; readonly text: string }

const described = new Map<string, Promise<Described>>()

/** Routes are passed as a function because the document's own route is one of them. */
export function describedAt({ config: { publicUrl } }: Context, routes: () => readonly Route[]): Promise<Described> {
  const known = described.get(publicUrl)
  if (known) return known
  const made = import('./document.ts').then(({ describeRoutes }) => {
    const document = describeRoutes(routes(), publicUrl)
    return { document, text: JSON.stringify(document) }
  })
  described.set(publicUrl, made)
  return made
}

/** GET /openapi.json. Public data, which tools in a browser must be able to read. */
export function description(routes: () => readonly Route[]): Handler {
  return async (context) => {
    const { text } = await describedAt(context, routes)
    return { status: 200, text, type: 'application/json; charset=utf-8', allowOrigin: '*' }
  }
}
