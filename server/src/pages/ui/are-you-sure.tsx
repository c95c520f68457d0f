/**
 * A button for what cannot easily be taken back: pressed once it opens and asks, pressed again it acts. No script is
 * needed for that, and no second page. What would happen is said before it, for everybody to read.
 */
import type { ComponentChildren } from 'preact'

type AreYouSureProps = {
  /** What the closed button says. */
  readonly label: ComponentChildren
  readonly question: ComponentChildren
  /** Asked already: what was sent came back with a problem. */
  readonly open?: boolean
  /** The form that does it. */
  readonly children: ComponentChildren
}

export function AreYouSure({ label, question, open = false, children }: AreYouSureProps) {
  return (
    <details class="are-you-sure" open={open}>
      <summary class="button quiet">{label}</summary>
      <div class="notice danger">
        <p>{question}</p>
        {children}
      </div>
    </details>
  )
}
