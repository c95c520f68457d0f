/** Error page: what happened, and what to do. */

import { ForDevelopers } from '../dialog/for-developers.tsx'
import type { Frame } from './frame.ts'
import { page } from './layout.tsx'

export type RefusalModel = {
  readonly code:
    | 'not_found'
    | 'no_account'
    | 'forbidden'
    | 'elsewhere'
    | 'second_factor'
    | 'stale'
    | 'unavailable'
    | 'server_error'
    | 'method_not_allowed'
    | 'payload_too_large'
    | 'invalid_request'
  /** Finds the log lines of an unexpected failure. */
  readonly requestId: string
  /** One technical line for the developers of the application that sent the user here. */
  readonly detail: string | null
}

export function refusalPage(frame: Frame, { code, requestId, detail }: RefusalModel): string {
  const { words } = frame
  return page(
    frame,
    words.t(`refusal.${code}`),
    <section class="card stack">
      <h1>{words.t(`refusal.${code}`)}</h1>
      <p>{words.t(`refusal.${code}_text`)}</p>
      {code === 'server_error' && (
        <p>
          {words.t('refusal.tell')}{' '}
          <code class="technical" dir="ltr">
            {requestId}
          </code>
        </p>
      )}
      {detail !== null && <ForDevelopers words={words} detail={detail} />}
      {frame.account && !frame.dialog && (
        <p>
          <a href="/">{words.t('refusal.home')}</a>
        </p>
      )}
    </section>,
  )
}
