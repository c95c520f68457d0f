/** A document of the repository as Starlight reads it: with front matter, without its title, with the addresses of the site. */

import { REPOSITORY, resolveLink } from './links.ts'
import { PROMISE } from './llms.ts'
import { type Page, summaryOf } from './pages.ts'

export type Document = { readonly text: string; readonly images: readonly string[] }

export function convertDocument(page: Page, pages: readonly Page[]): Document {
  const images: string[] = []
  const resolve = (href: string): string => {
    const target = resolveLink(href, page, pages)
    if (target.image) images.push(target.image)
    return target.href
  }
  const body = page.markdown
    .replace(/^# .+\n+/m, '')
    .split(/(^```[\s\S]*?^```$)/m)
    .map((part) => (part.startsWith('```') ? convertCode(part) : convertProse(part, resolve)))
    .join('')
  return { text: `${frontMatterOf(page)}\n${body}`, images }
}

/** YAML reads JSON. */
function frontMatterOf(page: Page): string {
  const { source, slug, title, method } = page
  const editUrl = source.endsWith('.md') && !source.startsWith('site/') ? `${REPOSITORY}/edit/main/${source}` : false
  const home = slug === '' ? HOME : {}
  const sidebar = method ? { badge: { text: method, variant: method === 'GET' ? 'note' : 'success' } } : undefined
  // Audits quote a standard or the contract row by row: a search would find them before the page that answers.
  const pagefind = source.startsWith('docs/audit/') ? false : undefined
  const fields = { title, description: summaryOf(page), editUrl, sidebar, pagefind, ...home }
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${JSON.stringify(value)}`],
  )
  return `---\n${lines.join('\n')}\n---\n`
}

const HOME = {
  hero: {
    title: 'Latchkey',
    tagline: PROMISE,
    actions: [
      { text: 'Try it in an hour', link: 'first-hour/', icon: 'right-arrow' },
      { text: 'API reference', link: 'api/', variant: 'minimal' },
      { text: 'Source code', link: REPOSITORY, icon: 'external', variant: 'minimal' },
    ],
  },
}

function convertProse(text: string, resolve: (href: string) => string): string {
  return (
    text
      .replace(/<!--[\s\S]*?-->\n*/g, '')
      // As HTML: an image in Markdown would be looked up beside the document instead of in public/.
      .replace(/!\[([^\]]*)\]\(([^)\s]+)\)/g, (_whole, alt: string, href: string) => imageOf(resolve(href), alt))
      .replace(/\]\(([^)\s]+)\)/g, (_whole, href: string) => `](${resolve(href)})`)
  )
}

function imageOf(src: string, alt: string): string {
  return `<img src="${src}" alt="${escapeHtml(alt).replace(/"/g, '&quot;')}">`
}

function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}

/** A diagram is drawn by src/components/MarkdownContent.astro; without a script, its source is shown. */
function convertCode(block: string): string {
  const [, diagram] = /^```mermaid\n([\s\S]*)\n```$/.exec(block) ?? []
  if (diagram === undefined) return block
  const attributes = 'class="diagram" data-pagefind-ignore tabindex="0" role="group" aria-label="Diagram"'
  return `<pre ${attributes}>${escapeHtml(diagram)}</pre>`
}
