/** Documents that are pages of the site, their order, and their first sentence. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..')

export type Page = {
  /** Path relative to the root of the repository. */
  readonly source: string
  /** Path relative to the root of the site. */
  readonly path: string
  /** Title of the document in Markdown, or a shorter one for the site. */
  readonly title: string
  readonly markdown: string
}

export type Chapter = { readonly title: string; readonly pages: readonly Page[] }

const CHAPTERS: Readonly<Record<string, readonly string[]>> = {
  Begin: ['docs/index.md', 'docs/first-hour.md', 'docs/install.md'],
  Guides: [
    'docs/guides/television.md',
    'docs/guides/kiosk.md',
    'docs/guides/command-line.md',
    'docs/guides/web.md',
    'docs/guides/many-users.md',
    'docs/guides/api.md',
  ],
  Reference: [
    'docs/interface.md',
    'docs/formats.md',
    'docs/glossary.md',
    'docs/conformance.md',
    'docs/errors.md',
    'sdk/README.md',
    'docs/command-line.md',
    'docs/configuration.md',
  ],
  Running: ['docs/operations.md', 'docs/scale.md', 'docs/versions.md', 'CHANGELOG.md'],
  Security: [
    'SECURITY.md',
    'docs/security.md',
    'docs/security/asvs.md',
    'docs/security/data.md',
    'docs/security/cryptography.md',
  ],
  Working: ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'CODE_OF_CONDUCT.md'],
}

const TITLES: Readonly<Record<string, string>> = {
  'sdk/README.md': 'The client library',
  'SECURITY.md': 'Guarantees and reporting',
}

export function readChapters(): readonly Chapter[] {
  const chapters = Object.entries(CHAPTERS).map(([title, sources]) => ({ title, pages: sources.map(readPage) }))
  return [...chapters, { title: 'Decisions', pages: readDecisions() }]
}

function readPage(source: string): Page {
  const markdown = readFileSync(join(ROOT, source), 'utf8').replace(/^<!-- Generated .*? -->\n+/, '')
  return { source, path: pathOf(source), title: TITLES[source] ?? titleOf(markdown), markdown }
}

/** A generated list of decisions, and each decision. */
function readDecisions(): readonly Page[] {
  const names = readdirSync(join(ROOT, 'docs/decisions')).filter((name) => name.endsWith('.md'))
  const decisions = names.sort().map((name) => readPage(join('docs/decisions', name)))
  const lines = decisions.map(({ source, title }) => `- [${title}](${source.slice('docs/decisions/'.length)})`)
  const markdown = `# Decisions\n\nWhat the contract leaves open, and what departs from the usual: half a page each, with the reason.\n\n${lines.join('\n')}\n`
  const index = { source: 'docs/decisions/', path: 'decisions/index.html', title: 'Decisions', markdown }
  return [index, ...decisions]
}

function pathOf(source: string): string {
  const places: Readonly<Record<string, string>> = { 'sdk/README.md': 'sdk.html', 'SECURITY.md': 'reporting.html' }
  return (
    places[source] ??
    source
      .replace(/^docs\//, '')
      .replace(/\.md$/, '.html')
      .toLowerCase()
  )
}

function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1] ?? ''
}

/** The first sentence below the title, without markup. */
export function summaryOf({ markdown }: Page): string {
  const paragraphs = markdown.split(/\n{2,}/).filter((each) => /^[\p{L}`*_[]/u.test(each))
  const text = (paragraphs[0] ?? '').replace(/\s+/g, ' ').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  const plain = text.replace(/[`*]|\b_|_\b/g, '')
  return /^.+?[.:?!](?= [\p{Lu}“`]|$)/u.exec(plain)?.[0] ?? plain
}
