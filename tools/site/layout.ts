/** Layout of a page: breadcrumb, navigation and next page. Works without a script. */
import { posix } from 'node:path'
import type { Chapter, Page } from './pages.ts'
import { escapeHtml, type Rendered } from './render.ts'

type Surroundings = {
  readonly chapters: readonly Chapter[]
  readonly page: Page
  readonly previous: Page | undefined
  readonly next: Page | undefined
}

export function layOut({ html, headings }: Rendered, { chapters, page, previous, next }: Surroundings): string {
  const to = (path: string) => posix.relative(posix.dirname(page.path), path) || posix.basename(path)
  const link = (each: Page, rel: 'prev' | 'next') => `<a rel="${rel}" href="${to(each.path)}">${inline(each.title)}</a>`
  const isDecision = page.path.startsWith('decisions/')
  const parts = headings.filter(({ depth }) => depth === 2)
  // Decisions are short, and some documents have their own table of contents.
  const contents =
    parts.length < 3 || isDecision || /^Contents: /m.test(page.markdown)
      ? ''
      : `<details class="contents"><summary>On this page</summary><ul>${parts
          .map(({ id, html: words }) => `<li><a href="#${id}">${withoutLinks(words)}</a></li>`)
          .join('')}</ul></details>\n`
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; img-src 'self'"/>
<meta name="color-scheme" content="light dark"/>
<title>${inline(page.title).replace(/<[^>]+>/g, '')}${page.path === 'index.html' ? '' : ' · Latchkey'}</title>
<link rel="stylesheet" href="${to('site.css')}"/>
<link rel="icon" href="${to('latchkey.svg')}"/>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header><a class="home" href="${to('index.html')}">Latchkey</a> <a class="jump" href="#navigation">All pages</a></header>
<div class="frame">
<main id="content" tabindex="-1">
${withContents(html, contents)}
<nav class="turn" aria-label="Next and previous page">
${previous ? `<span>← ${link(previous, 'prev')}</span>` : '<span></span>'}
${next ? `<span>${link(next, 'next')} →</span>` : '<span></span>'}
</nav>
</main>
<nav id="navigation" class="pages" aria-label="All pages">
${chapters.map(({ title, pages }) => renderChapter(title, shownOf(pages, isDecision), page, to)).join('\n')}
</nav>
</div>
</body>
</html>
`
}

/** Decisions are hidden in the navigation, except on their own pages. */
function shownOf(pages: readonly Page[], isDecision: boolean): readonly Page[] {
  return isDecision ? pages : pages.filter(({ path }) => !/^decisions\/\d/.test(path))
}

function renderChapter(title: string, pages: readonly Page[], current: Page, to: (path: string) => string): string {
  const lines = pages.map((page) => {
    const here = page === current ? ' aria-current="page"' : ''
    return `<li><a href="${to(page.path)}"${here}>${inline(page.title)}</a></li>`
  })
  return `<h2>${title}</h2>\n<ul>${lines.join('')}</ul>`
}

function withContents(html: string, contents: string): string {
  return html.replace(/(<\/h1>\n)/, `$1${contents}`)
}

/** Removes links from a heading, because links cannot be nested. */
function withoutLinks(html: string): string {
  return html.replace(/<\/?a\b[^>]*>/g, '')
}

/** Titles may contain code, but no other markup. */
function inline(title: string): string {
  return escapeHtml(title).replace(/`([^`]+)`/g, '<code>$1</code>')
}
