/** Page for a sign-in at the identity provider that Latchkey did not accept: why, and who can help. */
import type { ProviderSignInProblem } from '../../core/provider/provider.ts'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'

export type ProviderRefusedModel = {
  readonly problem: ProviderSignInProblem
  /** Name of the provider. */
  readonly host: string
  readonly next: string
}

export function providerRefusedPage(frame: Frame, { problem, host, next }: ProviderRefusedModel): string {
  const { words } = frame
  const title = words.t('hand_over.title')
  return page(
    frame,
    title,
    <section class="card stack">
      <h1>{title}</h1>
      <p role="alert">{words.t(`provider_refused.${problem}`, { name: frame.account?.name ?? '', host })}</p>
      <p class="actions">
        <a href={`/sign-in?notice=switched&next=${encodeURIComponent(next)}`} class="button block">
          {words.t('hand_over.again')}
        </a>
      </p>
    </section>,
    { problem: true },
  )
}
