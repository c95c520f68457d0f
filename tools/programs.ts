/** Programs that are run by name, as `npm run verify -- NAME` and `npm run bench -- NAME` do. */
import { join } from 'node:path'
import { buildIfStale } from './build.ts'

export type Program = {
  /** From the root of the repository. */
  readonly file: string
  readonly about: string
  /** Before those that the caller gives. */
  readonly args?: readonly string[]
}

/** Runs the named program on a fresh build, or lists all of them. */
export async function runProgram(script: string, programs: Readonly<Record<string, Program>>): Promise<void> {
  const [node = '', , name = '', ...given] = process.argv
  const program = programs[name]
  if (!program) {
    const width = Math.max(...Object.keys(programs).map((each) => each.length))
    console.log(`npm run ${script} -- NAME [OPTION …]\n`)
    for (const [each, { about }] of Object.entries(programs)) console.log(`  ${each.padEnd(width)}  ${about}`)
    process.exitCode = name === '' ? 0 : 1
    return
  }
  buildIfStale()
  const path = join(import.meta.dirname, '..', program.file)
  process.argv = [node, path, ...(program.args ?? []), ...given]
  await import(path)
}
