/** Pages of the link that was mailed to a user's present address, because a program asked for another one. */
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'

export type ChangeAddressModel = { readonly link: string; readonly email: string; readonly pendingEmail: string }

export function changeAddressPage(frame: Frame, { link, email, pendingEmail }: ChangeAddressModel): string {
  const { words } = frame
  const title = words.t('change_address.title')
  const named = { name: frame.account?.name ?? '', email, pending: pendingEmail, b: strong }
  return page(
    frame,
    title,
    <section class="card stack">
      <h1>{title}</h1>
      <p>{words.rich('change_address.text', named)}</p>
      <Notice kind="warning">
        <p>{words.t('change_address.warning')}</p>
      </Notice>
      <Form frame={frame} action="/link/address" hidden={{ link }} class="actions">
        <button type="submit" class="button" name="decision" value="keep">
          {words.t('change_address.keep')}
        </button>
        <button type="submit" class="button quiet" name="decision" value="change">
          {words.t('change_address.change')}
        </button>
      </Form>
    </section>,
  )
}

export type AddressDecidedModel =
  | { readonly outcome: 'changed' | 'kept'; readonly email: string }
  | { readonly outcome: 'exists' }

export function addressDecidedPage(frame: Frame, model: AddressDecidedModel): string {
  const { words } = frame
  const name = frame.account?.name ?? ''
  const { outcome } = model
  const title = words.t(outcome === 'exists' ? 'change_address.title' : `change_address.${outcome}`)
  return page(
    frame,
    title,
    <section class="card stack">
      <h1>{title}</h1>
      <p role="status">
        {outcome === 'exists'
          ? words.t('change_address.exists', { name })
          : words.rich(`change_address.${outcome}_text`, { name, email: model.email, b: strong })}
      </p>
      <p>
        <a href="/sign-in">{words.t('link_gone.sign_in')}</a>
      </p>
    </section>,
    { once: true },
  )
}
