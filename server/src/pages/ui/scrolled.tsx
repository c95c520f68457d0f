/** Scroll container for content wider than the window. Focusable and named, so that it scrolls by keyboard as well. */
import type { ComponentChildren } from 'preact'

type ScrolledProps = {
  readonly label: string
  readonly children: ComponentChildren
}

export function Scrolled({ label, children }: ScrolledProps) {
  return (
    <section class="scrolled" aria-label={label} {...{ tabIndex: 0 }}>
      {children}
    </section>
  )
}
