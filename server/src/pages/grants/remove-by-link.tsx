/** Page that revokes a grant by the link in the notification mail, without sign-in. */
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { strong } from '../ui/strong.tsx'

export type RemoveByLinkModel = {
  readonly link: string
  readonly application: string
  readonly email: string
  readonly removed: boolean
}

export function removeByLinkPage(frame: Frame, model: RemoveByLinkModel): string {
  const { words } = frame
  const named = { application: model.application, email: model.email, b: strong }
  const title = words.t(model.removed ? 'remove_by_link.removed' : 'remove_by_link.title')
  return page(
    frame,
    title,
    model.removed ? (
      <section class="card stack">
        <h1>{title}</h1>
        <p role="status">{words.rich('remove_by_link.removed_text', named)}</p>
        <p>{words.t('remove_by_link.removed_what')}</p>
        <p>
          <a href="/security">{words.t('remove_by_link.security')}</a>
        </p>
      </section>
    ) : (
      <section class="card stack">
        <h1>{title}</h1>
        <p>{words.rich('remove_by_link.text', named)}</p>
        <Form frame={frame} action="/link/remove" hidden={{ link: model.link }}>
          <button type="submit" class="button danger block">
            {words.t('remove_by_link.remove')}
          </button>
        </Form>
        <p class="soft">{words.t('remove_by_link.keep')}</p>
      </section>
    ),
  )
}
