/** Comments and messages lead to documents that exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')

/** Migrations are left out: a released one is never changed, and a page that it cites may move. */
const FOLDERS = ['server/src', 'server/test', 'sdk/src', 'sdk/test', 'deploy', 'tools', 'bench']

/** A path below docs/, with an anchor, with a quoted heading, or alone. */
const CITED = /\bdocs\/([\w/-]+\.md)(?:#([\w-]+)|,\s+"([^"]+?),?")?/g

const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/node_modules|dist/.test(entry.parentPath) && !/\.png$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name)),
)

const cited = files.flatMap((file) => {
  const text = readFileSync(file, 'utf8').replace(/\n\s*(\*|\/\/|#|--) ?/g, ' ')
  return Array.from(text.matchAll(CITED), ([, path = '', anchor, heading]) => ({
    file: file.slice(ROOT.length + 1),
    path: join('docs', path),
    heading: anchor ?? heading,
  }))
})

function hasHeading(path: string, heading: string): boolean {
  const headings = readFileSync(join(ROOT, path), 'utf8').match(/^#+ .*$/gm) ?? []
  return headings.some((line) => [line, line.toLowerCase()].some((each) => each.replace(/^#+ |`/g, '') === heading))
}

test('every document that a comment or a message names exists, with the heading that it quotes', () => {
  expect(cited).not.toEqual([])
  const wrong = cited.filter(
    ({ path, heading }) => !existsSync(join(ROOT, path)) || (heading !== undefined && !hasHeading(path, heading)),
  )
  expect(wrong).toEqual([])
})
