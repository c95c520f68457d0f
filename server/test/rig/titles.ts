/** Titles of tests, read from the sources. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..', '..')

/** A title is the first argument of a call, and others follow: `it('…', …)` or `it.each(…)('…', …)`. */
const TITLE = /\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`),/g

/** For each file of tests, from the root of the repository: the titles in it. */
export function titlesByFile(): ReadonlyMap<string, readonly string[]> {
  const files = globSync('{server,sdk,examples}/test/**/*.test.ts', { cwd: ROOT }).sort()
  return new Map(
    files.map((file) => {
      const source = readFileSync(join(ROOT, file), 'utf8')
      return [file, Array.from(source.matchAll(TITLE), ([, ...one]) => one.join(''))]
    }),
  )
}
