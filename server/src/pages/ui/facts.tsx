/** Facts, one per line, and lists of titles among them. */
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

/** List of scope titles, one per line. */
export function Titles({ titles }: { readonly titles: readonly string[] }) {
  return (
    <ul class="titles">
      {titles.map((title) => (
        <li key={title}>{title}</li>
      ))}
    </ul>
  )
}
