/** Page that shows a user's new recovery codes once and never again. */
import { CopyButton } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice } from '../ui/notice.tsx'

export type RecoveryCodesModel = {
  readonly codes: readonly string[]
  /** Where to continue. */
  readonly next: string
}

export function recoveryCodesPage(frame: Frame, { codes, next }: RecoveryCodesModel): string {
  const { words } = frame
  return page(
    frame,
    words.t('recovery_codes.title'),
    <section class="card stack">
      <h1>{words.t('recovery_codes.title')}</h1>
      <p>{words.t('security.recovery_codes_text')}</p>
      <Notice kind="warning" title={words.t('recovery_codes.once')}>
        <p>{words.t('recovery_codes.once_text')}</p>
      </Notice>
      <ul class="recovery-codes" id="recovery-codes" dir="ltr">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <CopyButton words={words} text={codes.join('\n')} />
      <p class="actions">
        <a class="button" href={next}>
          {words.t('recovery_codes.stored')}
        </a>
      </p>
    </section>,
    { single: true, once: true },
  )
}
