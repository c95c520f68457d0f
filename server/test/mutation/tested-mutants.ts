/** Results of Stryker's report, and the survivors that were judged. */
import { readFileSync } from 'node:fs'

export type TestedMutant = {
  readonly file: string
  readonly line: number
  readonly was: string
  readonly became: string
  readonly status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'RuntimeError' | 'CompileError' | 'Ignored'
}

/** A survivor that may stay, without its line, which moves. */
type Judged = Pick<TestedMutant, 'file' | 'was' | 'became'> & { readonly why: string }

type Position = { readonly line: number; readonly column: number }
type Report = {
  readonly files: Readonly<
    Record<
      string,
      {
        readonly source: string
        readonly mutants: readonly {
          readonly location: { readonly start: Position; readonly end: Position }
          readonly replacement: string
          readonly status: TestedMutant['status']
        }[]
      }
    >
  >
}

const JUDGED: readonly Judged[] = JSON.parse(readFileSync(new URL('judged.json', import.meta.url), 'utf8'))

export function mutantsOf(report: string): readonly TestedMutant[] {
  const { files }: Report = JSON.parse(report)
  return Object.entries(files).flatMap(([file, { source, mutants }]) => {
    const lines = source.split('\n')
    return mutants.map(({ location: { start, end }, replacement, status }) => ({
      file,
      line: start.line,
      was: textBetween(lines, start, end),
      became: replacement,
      status,
    }))
  })
}

/** Lines and columns start at 1. */
function textBetween(lines: readonly string[], start: Position, end: Position): string {
  const within = lines.slice(start.line - 1, end.line)
  within.push((within.pop() ?? '').slice(0, end.column - 1))
  within.unshift((within.shift() ?? '').slice(start.column - 1))
  return within.join('\n')
}

/** Killed mutants of all that a test could notice, and the number of survivors that were not judged. `whole`: of all mutants of these files. */
export function print(
  name: string,
  mutants: readonly TestedMutant[],
  whole: boolean,
): { readonly score: number; readonly open: number } {
  const count = (...statuses: readonly TestedMutant['status'][]) =>
    mutants.filter(({ status }) => statuses.includes(status)).length
  const killed = count('Killed', 'Timeout')
  const survivors = mutants.filter(({ status }) => ['Survived', 'NoCoverage'].includes(status))
  const open = survivors.filter((mutant) => !judgedBy(mutant))
  for (const { file, line, was, became, status } of open)
    console.log(`${status} ${file}:${line}\n- ${was}\n+ ${became}`)
  if (whole) printOutdated(survivors, new Set(mutants.map(({ file }) => file)))
  const score = killed / (killed + survivors.length)
  console.log(
    `mutation: ${name}: mutants=${killed + survivors.length} killed=${killed} survived=${survivors.length} score=${(100 * score).toFixed(2)} judged=${survivors.length - open.length} open=${open.length} static=${count('Ignored')} errors=${count('RuntimeError', 'CompileError')}`,
  )
  return { score, open: open.length }
}

function judgedBy(mutant: TestedMutant): boolean {
  return JUDGED.some((judged) => isOf(judged, mutant))
}

function isOf(judged: Judged, { file, was, became }: TestedMutant): boolean {
  return judged.file === file && judged.was === was && judged.became === became
}

/** Judged mutants of these files that are not among the survivors: their entries can be deleted. */
function printOutdated(survivors: readonly TestedMutant[], files: ReadonlySet<string>): void {
  const outdated = JUDGED.filter((judged) => files.has(judged.file) && !survivors.some((each) => isOf(judged, each)))
  for (const { file, was, became } of outdated) console.log(`judged, but no survivor: ${file}\n- ${was}\n+ ${became}`)
}
