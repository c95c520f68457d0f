/** List that shows its first items and folds the rest into a `<details>` element, so that pages stay short. */
import type { ComponentChildren } from 'preact'
import type { Words } from './words.ts'

type FoldedProps<Item> = {
  readonly words: Words
  readonly items: readonly Item[]
  /** Number of items that are always visible. */
  readonly shown: number
  /** The rest is open at first, because a problem is in it. */
  readonly open?: boolean
  /** `from`: number of items before these. */
  readonly render: (items: readonly Item[], from: number) => ComponentChildren
}

export function Folded<Item>({ words, items, shown, open = false, render }: FoldedProps<Item>) {
  const rest = items.slice(shown)
  return (
    <>
      {render(items.slice(0, shown), 0)}
      {rest.length > 0 && (
        <details class="more stack" open={open}>
          <summary>{words.t('folded.more', { count: rest.length })}</summary>
          {render(rest, shown)}
        </details>
      )}
    </>
  )
}
