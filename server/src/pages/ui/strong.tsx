/** Rendering of `<b>` in messages: a user-chosen name within a sentence, isolated by `<bdi>`. */
import type { ComponentChildren } from 'preact'

export function strong(chunks: ComponentChildren): ComponentChildren {
  return <bdi class="strong">{chunks}</bdi>
}
