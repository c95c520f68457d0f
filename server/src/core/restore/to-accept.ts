/**
 * What a replay of the journal leaves open. An operator looks at each and accepts it by its name; until then the restore
 * is not finished.
 */
import type { Gap } from './chain.ts'
import { type EventLine, subjectOf, unrepeatableKinds } from './journal-line.ts'

export type Open = {
  readonly gaps: readonly Gap[]
  /** Lost lines without a valid proof. */
  readonly unproven: number
  /** Lost events whose subject's access was changed since. */
  readonly superseded: readonly EventLine[]
  readonly lost: readonly EventLine[]
}

export const nameOfGap = ({ writer, number }: Gap): string => `gap:${writer}:${number}`

export function namesToAccept({ gaps, unproven, superseded, lost }: Open): readonly string[] {
  const named = (lines: readonly EventLine[]) => lines.map((line) => `${line.kind}:${subjectOf(line)}`)
  const names = [
    ...gaps.map(nameOfGap),
    ...(unproven > 0 ? [`unproven:${unproven}`] : []),
    ...named(superseded),
    ...named(lost.filter(({ kind }) => (unrepeatableKinds as readonly string[]).includes(kind))),
    ...lost.filter(({ address }) => address).map(({ user }) => `user.address:${user}`),
  ]
  return [...new Set(names)].toSorted()
}
