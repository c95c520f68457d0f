/** Documents that are pages of the site, their order, and their first sentence. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..')

export type Page = {
  /** Path relative to the root of the repository. */
  readonly source: string
  /** Path on the site, without slashes around it; empty for the first page. */
  readonly slug: string
  /** Title of the document in Markdown, or a shorter one for the site. */
  readonly title: string
  readonly markdown: string
  /** Heading in the navigation below that of the chapter. */
  readonly group?: string
  /** Method of the operation that the page describes. */
  readonly method?: string
}

export type Chapter = { readonly title: string; readonly pages: readonly Page[] }

const CHAPTERS: Readonly<Record<string, readonly string[]>> = {
  'Get started': ['docs/index.md', 'docs/first-hour.md', 'docs/install.md', 'docs/comparison.md'],
  Guides: [
    'docs/guides/television.md',
    'docs/guides/kiosk.md',
    'docs/guides/command-line.md',
    'docs/guides/web.md',
    'docs/guides/many-users.md',
    'docs/guides/api.md',
    'docs/guides/existing-service.md',
    'docs/guides/your-own-users.md',
    'docs/guides/identity-provider.md',
    'docs/guides/configuration-as-code.md',
  ],
  Reference: [
    'docs/interface.md',
    'docs/interface/device-flow.md',
    'docs/interface/dialog.md',
    'docs/interface/credentials.md',
    'docs/interface/standard-dialect.md',
    'docs/interface/webhooks.md',
    'docs/interface/limits.md',
    'docs/interface/account-pages.md',
    'docs/interface/differences.md',
    'docs/management.md',
    'docs/errors.md',
    'sdk/README.md',
    'docs/command-line.md',
    'docs/configuration.md',
    'docs/glossary.md',
  ],
  Operations: [
    'docs/operations.md',
    'docs/operations/upgrade.md',
    'docs/operations/backup.md',
    'docs/operations/high-availability.md',
    'docs/operations/connections.md',
    'docs/operations/keys.md',
    'docs/operations/monitoring.md',
    'docs/operations/audit-log.md',
    'docs/operations/operator-console.md',
    'docs/scale.md',
    'docs/performance.md',
    'docs/reliability.md',
    'docs/versions.md',
    'CHANGELOG.md',
  ],
  Security: ['docs/security.md', 'SECURITY.md'],
  Audit: ['docs/audit/asvs.md', 'docs/audit/conformance.md', 'docs/audit/cryptography.md', 'docs/audit/data.md'],
  Contributing: ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'CODE_OF_CONDUCT.md', 'docs/history.md'],
}

const TITLES: Readonly<Record<string, string>> = {
  'sdk/README.md': 'Client library (@latchkey/sdk)',
  'SECURITY.md': 'Security policy and guarantees',
}

const SLUGS: Readonly<Record<string, string>> = {
  'docs/index.md': '',
  'sdk/README.md': 'sdk',
  'SECURITY.md': 'security-policy',
}

export function readDocuments(): readonly Chapter[] {
  return Object.entries(CHAPTERS).map(([title, sources]) => ({ title, pages: sources.map(readPage) }))
}

function readPage(source: string): Page {
  const markdown = readFileSync(join(ROOT, source), 'utf8')
  return { source, slug: SLUGS[source] ?? slugOf(source), title: TITLES[source] ?? titleOf(markdown), markdown }
}

/** A generated list of decisions, and each decision. */
export function readDecisions(): readonly Page[] {
  const names = readdirSync(join(ROOT, 'docs/decisions')).filter((name) => name.endsWith('.md'))
  const decisions = names.sort().map((name) => readPage(join('docs/decisions', name)))
  const lines = decisions.map(({ source, title }) => `- [${title}](${source.slice('docs/decisions/'.length)})`)
  const markdown = `# Decisions\n\nWhat the contract leaves open, and what departs from the usual: a page each, with the reason. Settled ones are in the [history of decisions](../history.md).\n\n${lines.join('\n')}\n`
  return [{ source: 'docs/decisions/', slug: 'decisions', title: 'Decisions', markdown }, ...decisions]
}

function slugOf(source: string): string {
  return source
    .replace(/^docs\//, '')
    .replace(/\.md$/, '')
    .toLowerCase()
}

function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1]?.replace(/`/g, '') ?? ''
}

/** The first sentence below the title, without markup. */
export function summaryOf({ markdown }: Page): string {
  const paragraphs = markdown.split(/\n{2,}/).filter((each) => /^[\p{L}`*_[]/u.test(each))
  const text = (paragraphs[0] ?? '').replace(/\s+/g, ' ').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  const plain = text.replace(/[`*]|\b_|_\b/g, '')
  return /^.+?[.:?!](?= [\p{Lu}“`]|$)/u.exec(plain)?.[0] ?? plain
}
