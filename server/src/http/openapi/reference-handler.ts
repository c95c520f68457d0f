/** GET /reference: the OpenAPI document as a page. */
import { referencePage, renderReference } from '../../pages/reference/reference.tsx'
import type { BaseRoute } from '../route.ts'
import type { BaseHandler } from '../web/answer.ts'
import { describedAt } from './description.ts'
import type { OpenApiDocument } from './document-types.ts'
import { referenceModel } from './reference-model.ts'

const rendered = new WeakMap<OpenApiDocument, string>()

export function reference(routes: () => readonly BaseRoute[]): BaseHandler {
  return async (context, { frame }) => {
    const { document } = await describedAt(context, routes)
    const content = rendered.get(document) ?? renderReference(referenceModel(document))
    rendered.set(document, content)
    return { page: referencePage(frame, content) }
  }
}
