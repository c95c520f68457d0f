/**
 * Markdown to HTML that also is XML, so that a test can read it. Anchors are the ones that code hosts give, so the same links work
 * there and here. Documents hold no HTML of their own but breaks of a line, and comments, which are left out.
 */
import { Marked, type Token, type Tokens } from 'marked'

export type Heading = { readonly depth: number; readonly id: string; readonly html: string }
export type Rendered = { readonly html: string; readonly headings: readonly Heading[] }

/** `resolve` says where a link or a picture of the document leads on the site. */
export function renderMarkdown(markdown: string, resolve: (href: string) => string): Rendered {
  const headings: Heading[] = []
  const taken = new Map<string, number>()
  const marked = new Marked({ gfm: true })
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens)
        const id = anchorFor(plainText(tokens), taken)
        headings.push({ depth, id, html })
        const link = depth === 1 ? html : `<a class="anchor" href="#${id}">${html}</a>`
        return `<h${depth} id="${id}">${link}</h${depth}>\n`
      },
      link({ href, tokens }) {
        return `<a href="${escapeHtml(resolve(href))}">${this.parser.parseInline(tokens)}</a>`
      },
      image({ href, text }) {
        return `<img src="${escapeHtml(resolve(href))}" alt="${escapeHtml(text)}" loading="lazy"/>`
      },
      // Both may be wider than a telephone: they scroll by themselves, also with a keyboard.
      code({ text, lang }) {
        const language = lang ? ` data-language="${escapeHtml(lang)}"` : ''
        return `<pre tabindex="0"${language}><code>${escapeHtml(text)}</code></pre>\n`
      },
      table(token) {
        const head = token.header.map((cell) => this.tablecell(cell)).join('')
        const rows = token.rows.map((row) => `<tr>${row.map((cell) => this.tablecell(cell)).join('')}</tr>`).join('\n')
        const body = `<thead><tr>${head}</tr></thead>\n<tbody>${rows}</tbody>`
        return `<div class="scrolled" tabindex="0"><table>${body}</table></div>\n`
      },
      tablecell({ tokens, header }) {
        const name = header ? 'th' : 'td'
        const scope = header ? ' scope="col"' : ''
        return `<${name}${scope}>${this.parser.parseInline(tokens)}</${name}>`
      },
      html: ({ text }) =>
        /^\s*<!--[\s\S]*-->\s*$/.test(text) ? '' : /^<br ?\/?>$/.test(text) ? '<br/>' : escapeHtml(text),
      br: () => '<br/>',
      hr: () => '<hr/>\n',
    },
  })
  return { html: marked.parse(markdown, { async: false }), headings }
}

/** What GitHub makes of a heading. */
function anchorFor(text: string, taken: Map<string, number>): string {
  const base = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
  const before = taken.get(base) ?? 0
  taken.set(base, before + 1)
  return before === 0 ? base : `${base}-${before}`
}

function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => ('tokens' in token && token.tokens ? plainText(token.tokens) : (token as Tokens.Text).text))
    .join('')
}

export function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
}
