/** The OpenAPI document of the management API, from its routes. */
import type { Endpoint } from '../route.ts'
import { type DocumentSubject, describeRoutes } from './document.ts'
import type { OpenApiDocument } from './document-types.ts'
import { managementTags } from './operation.ts'
import { managementRefusalBodies } from './refused.ts'

const MANAGEMENT: DocumentSubject = {
  info: {
    title: 'Latchkey management API',
    version: '1',
    summary: 'Everything that the consoles do, for programs.',
    license: { name: 'MIT', identifier: 'MIT' },
    description: `Every request needs a management key, \`Authorization: Bearer lkm_…\`, made by \`latchkey manage-key create\`. A key reaches the whole service or one account, and never the operators’ account.

Bodies are JSON. Lists come in pages: ask again with \`cursor\` set to \`next\`. A POST with an \`Idempotency-Key\` can be repeated if its answer was lost. A change with \`If-Match\` is refused if somebody else was faster. With \`dry_run=true\` everything is checked and nothing is changed.

Every refusal has an \`error\`, which is a code that does not change, a \`message\` and a \`remedy\`. Answers may get new members: ignore those you do not know.`,
  },
  tags: managementTags,
  securitySchemes: {
    managementKey: {
      type: 'http',
      scheme: 'bearer',
      description: 'A management key (`lkm_…`), in the header and nowhere else.',
    },
  },
  refusalBodies: managementRefusalBodies,
  externalDocs: (publicUrl) => ({ url: `${publicUrl}/manage/1/openapi.json`, description: 'This document' }),
}

export function describeManagement(routes: readonly Endpoint[], publicUrl: string): OpenApiDocument {
  return describeRoutes(routes, publicUrl, MANAGEMENT)
}
