/** A change of the sources that tests must detect. */
export type Mutant = {
  readonly id: string
  /** From the root of the repository. */
  readonly file: string
  /** Occurs in the file exactly once, so that a record survives changes around it. */
  readonly text: string
  readonly replacement: string
  /** Test files of which at least one test has to fail. */
  readonly tests: readonly string[]
  /** What an attacker could do, or a user would lose, with this change. */
  readonly allows: string
}

export class MisplacedMutant extends Error {}

/** The file's text with the change applied. */
export function applyMutant({ id, file, text, replacement }: Mutant, source: string): string {
  const parts = source.split(text)
  if (parts.length !== 2) {
    const times = parts.length === 1 ? 'not at all' : `${parts.length - 1} times`
    throw new MisplacedMutant(`${id}: its text occurs ${times} in ${file}, and has to occur once:\n${text}`)
  }
  return parts.join(replacement)
}
