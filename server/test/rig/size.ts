/**
 * How much a heavy test does. `npm run verify -- attacks --full` sets FULL_SIZE and runs them at the size of the catalogue of attacks;
 * everything else runs a short form that still fails when the rule is gone. A test names its size in its title, from the same
 * constant that it runs at.
 */
export const FULL_SIZE = process.env.FULL_SIZE === '1'

export function sized(full: number, short: number): number {
  return FULL_SIZE ? full : short
}

/** For a title: 10000 is "10,000". */
export function figure(count: number): string {
  return count.toLocaleString('en')
}

/** A sample of a corpus, from all over it: every tenth in the short form. */
export function sample<T>(corpus: readonly T[], every = 10): readonly T[] {
  return FULL_SIZE ? corpus : corpus.filter((_text, at) => at % every === 0)
}
