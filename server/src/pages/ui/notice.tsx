/** Messages at the top of a page: problems, success, warnings. */
import type { ComponentChildren } from 'preact'
import type { Frame } from './frame.ts'
import type { Words } from './words.ts'

/** `field`: id of the field; null when the problem concerns no field. */
export type Problem = { readonly field: string | null; readonly text: string }

/**
 * Problem summary of a form that was rejected. It takes the focus without a script: `autofocus` works on every
 * focusable element, and the first one in the document wins.
 */
export function Problems({ words, problems }: { readonly words: Words; readonly problems: readonly Problem[] }) {
  if (problems.length === 0) return null
  return (
    <div class="notice danger" role="alert" tabIndex={-1} {...{ autofocus: true }}>
      <p>
        <strong>{words.t('notice.problem')}</strong>
      </p>
      <ul>
        {problems.map(({ field, text }) => (
          <li key={text}>{field === null ? text : <a href={`#${field}`}>{text}</a>}</li>
        ))}
      </ul>
    </div>
  )
}

type NoticeProps = {
  readonly kind: 'success' | 'info' | 'warning'
  readonly title?: string
  readonly children?: ComponentChildren
}

/** Screen readers announce `success` (role `status`); the others are ordinary content. */
export function Notice({ kind, title, children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} {...(kind === 'success' ? { role: 'status' } : {})}>
      {title !== undefined && (
        <p>
          <strong>{title}</strong>
        </p>
      )}
      {children}
    </div>
  )
}

/** Hint beside a sentence that promises an e-mail, while no mail server is configured. */
export function MailWaits({ frame }: { readonly frame: Frame }) {
  return frame.mail ? null : <p class="hint">{frame.words.t('notice.mail_waits')}</p>
}
