/** Page for a mailed link that was used or has expired. */

import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'

export function linkGonePage(frame: Frame): string {
  const { words } = frame
  return page(
    frame,
    words.t('link_gone.title'),
    <section class="card stack">
      <h1>{words.t('link_gone.title')}</h1>
      <p>{words.t('link_gone.text')}</p>
      <p>
        {frame.signInAt === null
          ? words.t('link_gone.what', { name: frame.account?.name ?? '' })
          : words.t('link_gone.what_host', { host: frame.signInAt })}
      </p>
      <div class="actions">
        {frame.signInAt === null && (
          <a class="button" href="/recover">
            {words.t('link_gone.recover')}
          </a>
        )}
        <a href="/sign-in">{words.t('link_gone.sign_in')}</a>
      </div>
    </section>,
  )
}
