/** What a page has to say before anything else: what is wrong, what went well, what to beware of. */
import type { ComponentChildren } from 'preact'
import type { Frame } from './frame.ts'
import type { Words } from './words.ts'

/** `field` is the id of the field it is about; null when it is about no field. */
export type Problem = { readonly field: string | null; readonly text: string }

/**
 * The summary at the top of a page that came back. It takes the focus without a script: `autofocus` holds for every
 * element that can be focused, and the first one in the document wins.
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

/** `success` is announced; the others are part of the page. */
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

/** Beside a sentence that promises an e-mail, where the service has no mail server. */
export function MailWaits({ frame }: { readonly frame: Frame }) {
  return frame.mail ? null : <p class="hint">{frame.words.t('notice.mail_waits')}</p>
}
