/**
 * Confirmation for actions that are hard to undo: the first press opens the question, the second submits. Needs no
 * script and no second page. The text before the button states the consequences, visible without opening it.
 */
import type { ComponentChildren } from 'preact'

type AreYouSureProps = {
  /** Text of the closed button. */
  readonly label: ComponentChildren
  readonly question: ComponentChildren
  /** Open initially: the form was submitted and returned with a problem. */
  readonly open?: boolean
  /** The form that performs the action. */
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
