/** Coverage of a proof: what never occurred was not tested. */
import fc from 'fast-check'

export type Checked = {
  readonly operations: number
  readonly seen: Seen
  /** The shrunk counterexample, or what never occurred; null on success. */
  readonly divergence: string | null
}

export class Seen {
  operations = 0
  readonly #answers = new Map<string, Map<string, number>>()

  add(operation: string, answer: string): void {
    this.operations += 1
    const answers = this.#answers.get(operation) ?? new Map<string, number>()
    answers.set(answer, (answers.get(answer) ?? 0) + 1)
    this.#answers.set(operation, answers)
  }

  missing(expected: Readonly<Record<string, readonly string[]>>): string | null {
    const missing = Object.entries(expected).flatMap(([operation, answers]) =>
      answers.filter((answer) => !this.#answers.get(operation)?.has(answer)).map((answer) => `${operation}: ${answer}`),
    )
    return missing.length === 0 ? null : `It never happened, so nothing is proved of it: ${missing.join('; ')}.`
  }

  /** One line per operation. */
  lines(): string[] {
    return [...this.#answers].sort().map(([operation, answers]) => {
      const counted = [...answers].sort().map(([answer, times]) => `${answer} ${times}`)
      return `${operation}: ${counted.join(', ')}`
    })
  }
}

/** The shortest failing sequence found, and its difference. */
export function describe<T>(run: fc.RunDetails<T>): string {
  const reason = run.errorInstance instanceof Error ? run.errorInstance.message : 'no error was given'
  const sequence = fc.stringify(run.counterexample).replaceAll('__proto__:null,', '')
  return `${reason}\nseed ${run.seed}, shrunk ${run.numShrinks} times: ${sequence}`
}

/** Different for neighbouring seeds, so that two runs do not repeat the same sequences. */
export function seedFor(seed: number, lane: number, round: number): number {
  return (Math.imul(seed, 0x9e3779b1) + Math.imul(lane, 0x85ebca6b) + Math.imul(round, 0xc2b2ae35)) | 0
}
