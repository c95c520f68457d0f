/** All chapters of the site: documents, and pages that are generated from descriptions of interfaces. */
import { readApiPages } from './api-pages.ts'
import { type Chapter, readDecisions, readDocuments } from './pages.ts'

export function readChapters(): readonly Chapter[] {
  const documents = readDocuments()
  const afterReference = documents.findIndex(({ title }) => title === 'Reference') + 1
  return [
    ...documents.slice(0, afterReference),
    { title: 'HTTP API', pages: readApiPages() },
    ...documents.slice(afterReference),
    { title: 'Decisions', pages: readDecisions() },
  ]
}
