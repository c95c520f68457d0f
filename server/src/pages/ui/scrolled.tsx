/** What may be wider than the window, scrolled by itself: with the keyboard as well, so it can take the focus and has a name. */
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
