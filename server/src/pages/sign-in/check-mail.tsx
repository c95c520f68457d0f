/** Answer to a sign-in that has to be confirmed by mail. It does not reveal whether the address and password are right. */
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { strong } from '../ui/strong.tsx'

export type CheckMailModel = { readonly email: string; readonly next: string }

export function checkMailPage(frame: Frame, { email, next }: CheckMailModel): string {
  const { words } = frame
  const title = words.t('check_mail.title')
  return page(
    frame,
    title,
    <section class="card stack">
      <h1>{title}</h1>
      <p>{words.t('check_mail.why')}</p>
      <p role="status">{words.rich('check_mail.text', { email, b: strong })}</p>
      <p class="soft">{words.t('check_mail.nothing')}</p>
      <p class="actions">
        <a href={`/sign-in?next=${encodeURIComponent(next)}`} class="button block">
          {words.t('check_mail.continue')}
        </a>
      </p>
      <p>
        <a href="/recover">{words.t('sign_in.recover')}</a>
      </p>
    </section>,
  )
}
