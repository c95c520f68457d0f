/** All chapters of the site: documents, and pages that are generated from descriptions of interfaces. */
import { readApiPages } from './api-pages.ts'
import { type Chapter, readDecisions, readDocuments } from './pages.ts'
import { readSdkPages } from './sdk-pages.ts'

export function readChapters(): readonly Chapter[] {
  const documents = readDocuments()
  const sdk = readSdkPages()
  const afterReference = documents.findIndex(({ title }) => title === 'Reference') + 1
  return [
    ...documents.slice(0, afterReference),
    { title: 'HTTP API', pages: readApiPages() },
    ...(sdk.length === 0 ? [] : [{ title: 'Client library API', pages: sdk }]),
    ...documents.slice(afterReference),
    { title: 'Decisions', pages: readDecisions() },
  ]
}
