/** Page for users who sign in at the host service or at an identity provider, where they are not sent there at once. */
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'

export type AtHostModel = {
  readonly reason: 'signed_out' | 'switched' | 'ended' | 'confirm'
  /** That leads there. */
  readonly address: string
  /** Name of the identity provider; absent: the host service. */
  readonly provider?: string
}

export function atHostPage(frame: Frame, { reason, address, provider }: AtHostModel): string {
  const { words } = frame
  const title = words.t(`at_host.title_${reason}`)
  const about = { name: frame.account?.name ?? '', host: provider ?? frame.signInAt ?? '' }
  return page(
    frame,
    title,
    <section class="card stack">
      <h1>{title}</h1>
      <p role="status">{words.t(`at_host.text_${reason}`, about)}</p>
      <p class="actions">
        <a href={address} class="button block">
          {words.t('at_host.continue', about)}
        </a>
      </p>
    </section>,
  )
}
