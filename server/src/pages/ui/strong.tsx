/** A name that somebody chose, within a sentence: what the `<b>` of a message becomes. */
import type { ComponentChildren } from 'preact'

export function strong(chunks: ComponentChildren): ComponentChildren {
  return <bdi class="strong">{chunks}</bdi>
}
