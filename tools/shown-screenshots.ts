/** Screenshots that the documentation shows. All others stay in the gallery, which is not committed. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

export const GALLERY = join(ROOT, '.gallery')
export const SCREENSHOTS = join(ROOT, 'docs', 'screenshots')

/** File names referred to by README.md and docs/. */
export function shownScreenshots(): readonly string[] {
  const documents = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name))
  const names = ['README.md', ...documents].flatMap((file) =>
    Array.from(readFileSync(join(ROOT, file), 'utf8').matchAll(/screenshots\/([\w-]+\.png)/g), ([, name = '']) => name),
  )
  return [...new Set(names)].sort()
}
