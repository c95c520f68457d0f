/** Definition list of facts, one per line. */
import type { ComponentChildren } from 'preact'

export function Facts({ children }: { readonly children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>
}

/** Renders nothing without a value. */
export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  if (children === null || children === undefined || children === false || children === '') return null
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
