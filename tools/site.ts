/**
 * Builds the documentation site: all pages of docs/ and the documents beside it, one stylesheet, no script, no external resources. It works
 * on any web server, under any path, or opened as files.
 *
 *   npm run site    write the site to .site/
 */
import { copyFileSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { removeFolder } from './remove-folder.ts'
import { layOut } from './site/layout.ts'
import { type Chapter, type Page, ROOT, readChapters, summaryOf } from './site/pages.ts'
import { renderMarkdown } from './site/render.ts'

const PROMISE =
  'An authorization server for web services whose accounts live on their own subdomains: device flow, access keys and dialog.'

/** Returns the paths of all written files. */
export function buildSite(folder: string): readonly string[] {
  const chapters = readChapters()
  const pages = chapters.flatMap((chapter) => chapter.pages)
  const written = new Set<string>()
  const place = (path: string): string => {
    written.add(path)
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    return file
  }
  removeFolder(folder)
  for (const [index, page] of pages.entries()) {
    const resolve = (href: string) => {
      const { path, copied } = follow(href, page, pages)
      if (copied) copyFileSync(join(ROOT, copied), place(path.split('#')[0] ?? ''))
      return /^(https?:|mailto:|#)/.test(path) ? path : posix.relative(posix.dirname(page.path), path)
    }
    const surroundings = { chapters, page, previous: pages[index - 1], next: pages[index + 1] }
    writeFileSync(place(page.path), layOut(renderMarkdown(page.markdown, resolve), surroundings))
  }
  copyFileSync(join(import.meta.dirname, 'site/site.css'), place('site.css'))
  copyFileSync(join(ROOT, 'server/assets/latchkey.svg'), place('latchkey.svg'))
  writeFileSync(place('llms.txt'), renderList(chapters))
  writeFileSync(place('llms-full.txt'), pages.map(({ markdown }) => markdown.trim()).join('\n\n---\n\n'))
  return [...written]
}

type Followed = { readonly path: string; readonly copied?: string }

/** Resolves a link of a document: external, another page, or a file of the repository, which is then copied. */
function follow(href: string, page: Page, pages: readonly Page[]): Followed {
  if (/^(https?:|mailto:|#)/.test(href)) return { path: href }
  const [file = '', anchor] = href.split('#')
  const base = page.source.endsWith('/') ? page.source : posix.dirname(page.source)
  const source = posix.join(base, file)
  const found = pages.find((each) => each.source === source || each.source === `${source}/`)
  if (found) return { path: anchor === undefined ? found.path : `${found.path}#${anchor}` }
  if (source === 'README.md') return { path: 'index.html' }
  if (!existsSync(join(ROOT, source)) || !statSync(join(ROOT, source)).isFile())
    throw new Error(`${page.source} links to ${href}, which is neither a page nor a file`)
  // Text and images have a correct media type on web servers; .ts would be served as a video.
  return { path: /\.(png|svg|txt)$/.test(source) ? `files/${source}` : `files/${source}.txt`, copied: source }
}

/** https://llmstxt.org: one line per page. */
function renderList(chapters: readonly Chapter[]): string {
  const lines = chapters.flatMap(({ title, pages }) => [
    `\n## ${title}\n`,
    ...pages.map((page) => `- [${page.title.replace(/`/g, '')}](${page.path}): ${summaryOf(page)}`),
  ])
  return `# Latchkey\n\n> ${PROMISE}\n\nEverything on this list as one text: [llms-full.txt](llms-full.txt).\n${lines.join('\n')}\n`
}

if (import.meta.main) {
  const folder = join(ROOT, '.site')
  console.log(`wrote ${buildSite(folder).length} files to ${folder}; open ${join(folder, 'index.html')}`)
}
