/** Which attacks of the catalogue the titles of tests name, read from the sources. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ATTACKS } from './catalogue.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

/** A title is the first argument of a call, and others follow: `it('…', …)` or `it.each(…)('…', …)`. */
const TITLE = /\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`),/g

/** Words that look like an id and are in no list are no attacks: "UTF-16", say. */
export function attacksIn(title: string): readonly string[] {
  return Array.from(title.matchAll(/\b[A-Z]{2}-\d{2}\b/g), ([id]) => id).filter((id) => id in ATTACKS)
}

/** For each file with tests of attacks, from the root of the repository: the ids. */
export function attacksByFile(): ReadonlyMap<string, ReadonlySet<string>> {
  const files = globSync('{server,sdk,examples}/test/**/*.test.ts', { cwd: ROOT }).sort()
  const named = files.map((file) => {
    const titles = Array.from(readFileSync(join(ROOT, file), 'utf8').matchAll(TITLE), ([, ...one]) => one.join(''))
    return [file, new Set(titles.flatMap(attacksIn))] as const
  })
  return new Map(named.filter(([, ids]) => ids.size > 0))
}
