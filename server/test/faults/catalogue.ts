/** The catalogue of faults: the table of docs/reliability.md, and the tests and commands that name its ids. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROOFS } from '../../../tools/verify.ts'
import { titlesByFile } from '../rig/titles.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const DOCUMENT = 'docs/reliability.md'
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

export const IDS: readonly string[] = Array.from({ length: 56 }, (_, index) => `F${String(index + 1).padStart(2, '0')}`)

/** Arguments of the commands that the table names: in the short form, or null where there is none, and at full size. */
export const FORMS: Readonly<
  Record<string, { readonly short: readonly string[] | null; readonly full: readonly string[] }>
> = {
  failover: { short: null, full: ['--full'] },
  'gate-failover': { short: ['--events', '4'], full: ['--full'] },
  messages: { short: ['--cases', '40', '--lanes', '3'], full: ['--full'] },
  restarts: { short: ['--restarts', '4'], full: ['--full'] },
  restore: { short: ['--size', '5', '--lost', '8'], full: ['--full'] },
  soak: { short: [], full: ['--hours', '1'] },
}

export type Fault = {
  readonly id: string
  readonly fault: string
  /** Files of tests, from the root of the repository. */
  readonly files: readonly string[]
  /** Names that `npm run verify` takes. */
  readonly commands: readonly string[]
}

/** Rows of the table, in its order, with what names their ids. */
export function readTable(): readonly Fault[] {
  const [files, commands] = [filesByFault(), commandsByFault()]
  const lines = read(DOCUMENT).split('\n')
  return lines
    .filter((line) => /^\| F\d\d /.test(line))
    .map((line) => {
      const [, id = '', fault = ''] = line.split('|').map((cell) => cell.trim())
      return { id, fault, files: files.get(id) ?? [], commands: commands.get(id) ?? [] }
    })
}

/** `F33: …` names one fault, `F33, F34: …` two. */
export function faultsIn(title: string): readonly string[] {
  return /^(F\d\d(?:, F\d\d)*): /.exec(title)?.[1]?.split(', ') ?? []
}

/** For each id in the title of a test: the files. */
export function filesByFault(): ReadonlyMap<string, readonly string[]> {
  return collect([...titlesByFile()].map(([file, titles]) => [file, titles.flatMap(faultsIn)] as const))
}

/** For each id in the source of a verify command, comments left out: the commands. */
export function commandsByFault(): ReadonlyMap<string, readonly string[]> {
  return collect(
    Object.entries(PROOFS).map(([name, { file }]) => {
      const code = read(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
      return [name, Array.from(code.matchAll(/\bF\d\d\b/g), ([id]) => id)] as const
    }),
  )
}

function collect(named: readonly (readonly [string, readonly string[]])[]): ReadonlyMap<string, readonly string[]> {
  const byId = new Map<string, Set<string>>()
  for (const [place, ids] of named) {
    for (const id of ids) byId.set(id, (byId.get(id) ?? new Set()).add(place))
  }
  return new Map([...byId].map(([id, places]) => [id, [...places].sort()]))
}
