/** Paths with named segments, as in `/manage/1/accounts/{account}`, and paths that stand for everything below them. */
import type { RouteKey, Segments } from './route.ts'
import type { PathRoutes, Router } from './router.ts'

export type Matched<R extends RouteKey> = { readonly found: PathRoutes<R>; readonly segments: Segments }

const NO_SEGMENTS: Segments = {}

/** Looks up exact paths before templates, so that polls do not pay for templates. Undefined if no route matches. */
export function createPathMatcher<R extends RouteKey>(router: Router<R>): (path: string) => Matched<R> | undefined {
  const served = Array.from(router, ([path, found]) => ({ path, found })).filter(({ path }) => path.includes('{'))
  const templates = served
    .filter(({ path }) => hasSegments(path))
    .map(({ path, found }) => ({ found, parts: path.split('/') }))
  const prefixes = served
    .filter(({ path }) => !hasSegments(path))
    .map(({ path, found }) => ({ found, prefix: path.slice(0, path.indexOf('{')) }))
  return (path) => {
    const exact = router.get(path)
    if (exact && !path.includes('{')) return { found: exact, segments: NO_SEGMENTS }
    if (!hasSegments(path)) {
      const above = prefixes.find(({ prefix }) => path.startsWith(prefix))
      return above && { found: above.found, segments: NO_SEGMENTS }
    }
    const given = path.split('/')
    for (const { found, parts } of templates) {
      const segments = matchSegments(parts, given)
      if (segments) return { found, segments }
    }
    return undefined
  }
}

const hasSegments = (path: string) => path.startsWith('/manage/') || path.startsWith('/scim/')

const MAX_SEGMENT_LENGTH = 300

/**
 * Null if the path does not match the template, or a segment is empty, too long, not percent-encoded UTF-8, or contains
 * a NUL, which PostgreSQL cannot store.
 */
function matchSegments(parts: readonly string[], given: readonly string[]): Segments | null {
  if (parts.length !== given.length) return null
  const segments: Record<string, string> = {}
  for (const [at, part] of parts.entries()) {
    const text = given[at] ?? ''
    if (!part.startsWith('{')) {
      if (part !== text) return null
      continue
    }
    if (text === '' || text.length > MAX_SEGMENT_LENGTH) return null
    try {
      const decoded = decodeURIComponent(text)
      if (decoded.includes('\0')) return null
      segments[part.slice(1, -1)] = decoded
    } catch {
      return null
    }
  }
  return segments
}
