/** Whether somebody can sign in, as a word. */
import type { Words } from '../ui/words.ts'

/** `invited`: has yet to come in by the link that was sent. */
export type PersonStatus = 'active' | 'invited' | 'disabled'

const KINDS = { active: 'success', invited: 'warning', disabled: 'danger' } as const

export function Status({ words, status }: { readonly words: Words; readonly status: PersonStatus }) {
  return <span class={`badge ${KINDS[status]}`}>{words.t(`person_status.${status}`)}</span>
}
