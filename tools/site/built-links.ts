/** Addresses in the built pages: every link of the site leads to a file and a fragment, and nothing is loaded from another host. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'

export type BuiltPage = {
  /** Path below the root of the site: empty, or with a slash at its end. */
  readonly path: string
  readonly html: string
  readonly ids: ReadonlySet<string>
}

export function readBuiltPages(folder: string): readonly BuiltPage[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names
    .filter((name) => posix.basename(name) === 'index.html')
    .map((name) => {
      const html = readFileSync(join(folder, name), 'utf8')
      const ids = new Set(Array.from(html.matchAll(/\sid="([^"]+)"/g), ([, id = '']) => id))
      return { path: name.slice(0, -'index.html'.length), html, ids }
    })
}

/** `below` is the path under which the site is served. */
export function findBrokenLinks(folder: string, pages: readonly BuiltPage[], below: string) {
  const byPath = new Map(pages.map((page) => [page.path, page]))
  const broken: string[] = []
  let links = 0
  for (const { path, html } of pages) {
    for (const [element, tag, address = ''] of html.matchAll(/<(\w+)[^>]*?\s(?:href|src)="([^"]*)"/g)) {
      if (/^([a-z]+:|\/\/)/.test(address)) {
        if (tag !== 'a' && !address.startsWith('data:') && !element.includes('rel="canonical"'))
          broken.push(`${path} loads ${address}`)
        continue
      }
      links += 1
      const url = new URL(address.replaceAll('&amp;', '&'), `http://site${below}${path}`)
      if (!hasTarget(url, folder, byPath, below)) broken.push(`${path} links to ${address}`)
    }
  }
  return { links, broken }
}

function hasTarget(url: URL, folder: string, pages: ReadonlyMap<string, BuiltPage>, below: string): boolean {
  const path = decodeURI(url.pathname)
  if (!path.startsWith(below)) return false
  const place = path.slice(below.length)
  const page = pages.get(place)
  if (page) return url.hash === '' || page.ids.has(decodeURIComponent(url.hash.slice(1)))
  const file = join(folder, place)
  return url.hash === '' && existsSync(file) && statSync(file).isFile()
}
