/** Which attacks of the catalogue the titles of tests name. */
import { titlesByFile } from '../rig/titles.ts'
import { ATTACKS } from './catalogue.ts'

/** Words that look like an id and are in no list are no attacks: "UTF-16", say. */
export function attacksIn(title: string): readonly string[] {
  return Array.from(title.matchAll(/\b[A-Z]{2}-\d{2}\b/g), ([id]) => id).filter((id) => id in ATTACKS)
}

/** For each file with tests of attacks, from the root of the repository: the ids. */
export function attacksByFile(): ReadonlyMap<string, ReadonlySet<string>> {
  const named = [...titlesByFile()].map(([file, titles]) => [file, new Set(titles.flatMap(attacksIn))] as const)
  return new Map(named.filter(([, ids]) => ids.size > 0))
}
