/** Links of a document, resolved to another page of the site, an image of the site, or a file in the repository. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { type Page, ROOT } from './pages.ts'

export type Target = {
  readonly href: string
  /** Path of an image that the site needs, relative to the root of the repository. */
  readonly image?: string
}

const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
/** Public address of the repository. */
export const REPOSITORY: string = repository.url.replace(/^git\+|\.git$/g, '')

/** Addresses are relative, so that the site works under any path. Throws if the target does not exist. */
export function resolveLink(href: string, page: Page, pages: readonly Page[]): Target {
  if (/^(https?:|mailto:)/.test(href)) return { href }
  const [file = '', anchor] = href.split('#')
  const base = page.source.endsWith('/') ? page.source : posix.dirname(page.source)
  const source = file === '' ? page.source : posix.join(base, file)
  const operation = pages.find((each) => each.source === `${source}#${anchor}`)
  if (operation) return { href: relative(page, `${operation.slug}/`) }
  const found = pages.find((each) => each.source === source || each.source === `${source}/`)
  if (found) return { href: linkTo(found, anchor, page, href) }
  if (source === 'README.md') return { href: relative(page, '') }
  if (!existsSync(join(ROOT, source))) throw new Error(`${page.source} links to ${href}, which does not exist`)
  if (/\.(png|svg)$/.test(source)) return { href: relative(page, `files/${source}`), image: source }
  const kind = statSync(join(ROOT, source)).isFile() ? 'blob' : 'tree'
  return { href: `${REPOSITORY}/${kind}/main/${source}${anchor === undefined ? '' : `#${anchor}`}` }
}

function linkTo(found: Page, anchor: string | undefined, page: Page, href: string): string {
  if (anchor !== undefined && !anchorsOf(found.markdown).includes(anchor))
    throw new Error(`${page.source} links to ${href}, which has no such heading`)
  const path = found.source === page.source ? '' : relative(page, found.slug === '' ? '' : `${found.slug}/`)
  // The title is not part of the text: its anchor is the page itself.
  const isTitle = anchor === anchorsOf(found.markdown)[0]
  return anchor === undefined || isTitle ? path || './' : `${path}#${anchor}`
}

/** From the folder of one page to a path of the site: every page but the first is a folder. */
function relative(page: Page, path: string): string {
  const up = posix.relative(`/${page.slug}`, '/')
  return `${up === '' ? '.' : up}/${path}`
}

/** Anchors of all headings, as GitHub and the site generate them. */
function anchorsOf(markdown: string): readonly string[] {
  const taken = new Map<string, number>()
  const prose = markdown.replace(/^```[\s\S]*?^```$/gm, '')
  return Array.from(prose.matchAll(/^#{1,6} (.+)$/gm), ([, heading = '']) => {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const base = text
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-')
    const before = taken.get(base) ?? 0
    taken.set(base, before + 1)
    return before === 0 ? base : `${base}-${before}`
  })
}
