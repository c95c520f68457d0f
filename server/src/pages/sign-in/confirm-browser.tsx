/** Page of the link that completes a sign-in from a new browser. */
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { strong } from '../ui/strong.tsx'

export type ConfirmBrowserModel = { readonly link: string; readonly email: string }

export function confirmBrowserPage(frame: Frame, { link, email }: ConfirmBrowserModel): string {
  const { words } = frame
  const title = words.t('confirm_browser.title')
  return page(
    frame,
    title,
    <section class="card stack">
      <h1>{title}</h1>
      <p>{words.rich('confirm_browser.text', { email, b: strong })}</p>
      <Form frame={frame} action="/link/sign-in" hidden={{ link }}>
        <button type="submit" class="button block">
          {words.t('confirm_browser.continue')}
        </button>
      </Form>
      <p class="soft">{words.t('confirm_browser.not_you')}</p>
    </section>,
  )
}
