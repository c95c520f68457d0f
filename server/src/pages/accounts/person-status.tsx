/** Badge that tells whether a user can sign in. */
import type { Words } from '../ui/words.ts'

/** `invited`: has not used the invitation link yet. */
export type PersonStatus = 'active' | 'invited' | 'disabled'

const KINDS = { active: 'success', invited: 'warning', disabled: 'danger' } as const

export function Status({ words, status }: { readonly words: Words; readonly status: PersonStatus }) {
  return <span class={`badge ${KINDS[status]}`}>{words.t(`person_status.${status}`)}</span>
}
